import { Redis } from "ioredis"
import { afterAll, afterEach, beforeAll, describe } from "vitest"
import { type RedisServer, startRedis } from "../../../../../test/support/redis/single.js"
import { memoryStore } from "../../stores/memory/memory-store.js"
import { redisStore } from "../../stores/redis/index.js"
import type { Store } from "../../stores/store.js"

/** Runs the tests on a memory store and on a real Redis. */
export function describeOnBothStores(tests: (openStore: () => Store) => void): void {
  describe("on memory", () => tests(() => memoryStore()))
  describe("on Redis", () => {
    let server: RedisServer
    let client: Redis
    beforeAll(async () => {
      server = await startRedis()
      client = new Redis(server.url)
    }, 30_000)
    afterEach(async () => {
      await client.flushall()
    })
    afterAll(async () => {
      client?.disconnect()
      await server?.stop()
    })
    // A long deadline: on a busy machine Redis answers late, and its decisions are tested here.
    tests(() => redisStore(client, { deadline: "10s" }))
  })
}
