import type { Redis } from "ioredis"
import { createLimiter } from "sluice"
import { redisStore } from "sluice/redis"
import { afterEach, beforeEach, expect, it } from "vitest"
import { eventually } from "../support/eventually.js"
import { PATIENT } from "./contract.js"
import { useRedis } from "./one-server.js"

const redis = useRedis()
let warnings: { code?: string; message: string }[]
const note = (warning: Error): void => void warnings.push(warning)

beforeEach(() => {
  warnings = []
  process.on("warning", note)
})
afterEach(() => {
  process.off("warning", note)
})

/** A client whose server reports the given INFO. */
async function clientOf(info: string): Promise<{ client: object; isAsked: () => boolean }> {
  const { client } = (await redis.client()) as { client: Redis }
  let asked = false
  const told = new Proxy(client, {
    get(target, name) {
      const value = Reflect.get(target, name)
      if (name !== "callBuffer") return typeof value === "function" ? value.bind(target) : value
      return async (command: string, ...args: (string | Buffer)[]) => {
        if (command !== "INFO" || args[0] !== "server") return await target.callBuffer(command, args)
        asked = true
        return Buffer.from(info)
      }
    },
  })
  return { client: told, isAsked: () => asked }
}

async function use(info: string): Promise<void> {
  const { client, isAsked } = await clientOf(info)
  const store = redis.later(redisStore(client, { ...PATIENT, heartbeat: 20 }))
  await createLimiter({ store, limit: 5, window: "1m" }).check("key")
  await eventually(isAsked, { what: "the server is asked" })
  // Node emits warnings in the next tick. A second heartbeat must not ask again.
  await eventually(async () => (await redis.server.cli("ZCARD", "s1:{fleet}:instances")) !== 0)
  await new Promise((resolve) => setImmediate(resolve))
}

it.each(["5.0.14", "6.0.20", "4.0.9"])(
  "warns once of a server like Redis %s, with the version",
  async (version) => {
    await use(`# Server\r\nredis_version:${version}\r\n`)
    await eventually(() => warnings.length > 0, { what: "a warning" })
    expect(warnings.map(({ code }) => code)).toEqual(["REDIS_TOO_OLD"])
    expect(warnings[0]?.message).toContain(version)
  },
)

it.each([
  ["KeyDB 6.3", "# Server\r\nredis_version:6.3.4\r\n"],
  ["Redis 6.2", "# Server\r\nredis_version:6.2.14\r\n"],
  ["Valkey 8", "# Server\r\nredis_version:7.2.4\r\nvalkey_version:8.0.1\r\n"],
  ["Dragonfly", "# Server\r\nredis_version:7.4.0\r\ndragonfly_version:df-v1.25.0\r\n"],
  ["Redis 10", "# Server\r\nredis_version:10.0.0\r\n"],
  ["a server that does not tell", ""],
])("says nothing of %s", async (_, info) => {
  await use(info)
  expect(warnings).toEqual([])
})

it("the scripts use no flag of PEXPIRE, which servers before Redis 7 do not know", async () => {
  const { SCRIPT, HEARTBEAT } = await import("../../packages/sluice/src/stores/redis/scripts.js")
  for (const call of `${SCRIPT}${HEARTBEAT}`.matchAll(/call\("PEXPIRE"[^\n]*/g))
    expect(call[0]).not.toMatch(/"(NX|XX|GT|LT)"/)
})
