// The secret that keys the hashes of API keys. All instances that share a store need the same secret, also after a restart. If
// none is configured, the service makes one and keeps it beside the counters or the rules.

import { randomBytes } from "node:crypto"
import { readFileSync, writeFileSync } from "node:fs"
import { basename, dirname, join, resolve } from "node:path"
import { openRedisClient } from "sluice/redis"
import { clientOptions } from "../config/as-options.js"
import type { Config } from "../config/schema.js"
import type { Log } from "../telemetry/log.js"

const REDIS_TIMEOUT_MS = 1_000

/** Finds or makes the secret. Undefined if only Redis has it and Redis does not answer. */
export async function findSecret(config: Config, log: Log): Promise<string | undefined> {
  if (config.secret !== undefined) return config.secret
  const { file, redis } = config.rules
  const beside = redis.lastGood ?? file
  const copy =
    beside === undefined ? undefined : join(dirname(resolve(beside)), `.${basename(beside)}.secret`)
  if (config.store.url === "memory") return copy === undefined ? newSecret() : keepIn(copy, newSecret(), log)
  const shared = await sharedSecret(config.store, `${config.prefix}:{secret}`)
  if (shared !== undefined) return copy === undefined ? shared : keepIn(copy, shared, log)
  log.warn("could not read the shared secret: Redis does not answer")
  return copy === undefined ? undefined : readIfThere(copy)
}

function newSecret(): string {
  return randomBytes(32).toString("base64url")
}

/** Of several instances that start together, one writes the secret and all read it. */
async function sharedSecret(store: Config["store"], name: string): Promise<string | undefined> {
  const client = await openRedisClient(store.url, clientOptions(store))
  const late = new Promise<undefined>((done) => setTimeout(done, REDIS_TIMEOUT_MS, undefined).unref())
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

/** Returns the secret in the file, or writes this one to it. The service also starts if it may not write there. */
function keepIn(path: string, secret: string, log: Log): string {
  try {
    writeFileSync(path, `${secret}\n`, { mode: 0o600, flag: "wx" })
    return secret
  } catch (error) {
    const kept = readIfThere(path)
    if (kept === undefined)
      log.warn(
        { error: (error as Error).message },
        "could not save the secret: counters by API key start from zero after a restart",
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
