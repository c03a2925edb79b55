import fc from "fast-check"
import { afterAll, beforeAll, expect, it } from "vitest"
import { keyslot, storageKey } from "../../packages/sluice/src/stores/redis/keys.js"
import type { RespConnection } from "../support/redis/resp-connection.js"
import { type RedisServer, startRedis } from "../support/redis/single.js"
import { Counter } from "./one-server.js"

let server: RedisServer
let connection: RespConnection

beforeAll(async () => {
  server = await startRedis({ config: { "cluster-enabled": "yes" } })
  connection = await server.connect()
})
afterAll(async () => {
  connection.close()
  await server.stop()
})

const odd = fc.string({ unit: fc.constantFrom(..."{}{}ab:é漢😀\0\n "), maxLength: 12 })
const texts = fc.oneof(odd, fc.string({ unit: "binary", maxLength: 40 }))

it("the slot of any key is the one that Redis says", async () => {
  await fc.assert(
    fc.asyncProperty(texts, async (key) => {
      expect(keyslot(key)).toBe(await connection.command("CLUSTER", "KEYSLOT", key))
    }),
    { numRuns: 2_000 },
  )
})

it("all limits of one caller have one slot, whatever the caller and the limits are called", async () => {
  const slotOf = (namespace: string, key: string) => {
    const { policy } = new Counter({} as never, { limit: 1, window: "1m" })
    return connection.command(
      "CLUSTER",
      "KEYSLOT",
      storageKey({ namespace: { name: namespace } as never, key, policy, cost: 1 }),
    )
  }
  await fc.assert(
    fc.asyncProperty(texts, texts, texts, async (key, namespace, other) => {
      expect(await slotOf(namespace, key)).toBe(await slotOf(other, key))
    }),
    { numRuns: 1_000 },
  )
})
