// The secret that keys the hashes of API keys. Whoever counts in the same store needs the same one, also after a restart: if
// none is configured it is made once, and kept where the counters or the rules are.

import { randomBytes } from "node:crypto"
import { readFileSync, writeFileSync } from "node:fs"
import { basename, dirname, join, resolve } from "node:path"
import { openRedisClient } from "sluice/redis"
import type { Config } from "../config/schema.js"
import type { Log } from "../telemetry/index.js"

const REDIS_WITHIN_MS = 1_000

/** Undefined when it is in a Redis that does not answer, and nowhere else. */
export async function findSecret(config: Config, log: Log): Promise<string | undefined> {
  if (config.secret !== undefined) return config.secret
  const { file, redis } = config.rules
  const beside = redis.lastGood ?? file
  const copy =
    beside === undefined ? undefined : join(dirname(resolve(beside)), `.${basename(beside)}.secret`)
  if (config.store.url === "memory") return copy === undefined ? newSecret() : keepIn(copy, newSecret(), log)
  const shared = await sharedSecret(config.store.url, `${config.prefix}:{secret}`)
  if (shared !== undefined) return copy === undefined ? shared : keepIn(copy, shared, log)
  log.warn("Redis is away, and the secret of the fleet with it")
  return copy === undefined ? undefined : readIfThere(copy)
}

function newSecret(): string {
  return randomBytes(32).toString("base64url")
}

/** Of a fleet that starts together one writes it, and all read that one. */
async function sharedSecret(url: string, name: string): Promise<string | undefined> {
  const client = await openRedisClient(url)
  const late = new Promise<undefined>((done) => setTimeout(done, REDIS_WITHIN_MS, undefined).unref())
  try {
    const asked = ready(client).then(async () => {
      await client.set(name, newSecret(), "NX")
      return (await client.get(name)) ?? undefined
    })
    return await Promise.race([asked.catch(() => undefined), late])
  } finally {
    client.disconnect()
  }
}

function ready(client: Awaited<ReturnType<typeof openRedisClient>>): Promise<void> {
  return new Promise((resolve, reject) => {
    if (client.status === "ready") return resolve()
    client.once("ready", () => resolve())
    client.once("end", () => reject(new Error("closed")))
  })
}

/** The secret in the file, or this one once it is there. A folder that may only be read is no reason not to start. */
function keepIn(path: string, secret: string, log: Log): string {
  try {
    writeFileSync(path, `${secret}\n`, { mode: 0o600, flag: "wx" })
    return secret
  } catch (error) {
    const kept = readIfThere(path)
    if (kept === undefined)
      log.warn(
        { error: (error as Error).message },
        "the secret cannot be kept; counters by API key start anew",
      )
    return kept ?? secret
  }
}

function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8").trim() || undefined
  } catch {
    return undefined
  }
}
