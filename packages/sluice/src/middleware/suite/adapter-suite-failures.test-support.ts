// Stores that fail.

import { Redis } from "ioredis"
import { afterAll, beforeAll, expect, it } from "vitest"
import { type RedisServer, startRedis } from "../../../../../test/support/redis/single.js"
import { memoryStore } from "../../stores/memory/memory-store.js"
import { redisStore } from "../../stores/redis/index.js"
import type { DecisionEvent } from "../core/rate-limit-options.js"
import { EXACT, type Open, statuses } from "./adapter-app.test-support.js"

export function describeFailures(open: Open): void {
  let server: RedisServer
  let client: Redis
  beforeAll(async () => {
    server = await startRedis()
    client = new Redis(server.url)
    client.on("error", () => undefined)
    await client.ping()
    await server.kill()
  }, 30_000)
  afterAll(async () => {
    client?.disconnect()
    await server?.stop()
  })

  it.each([
    ["allow", [200, 200, 200]],
    ["deny", [429, 429, 429]],
    ["local", [200, 200, 429]],
  ] as const)("%ss what onStoreFailure says while Redis is away", async (onStoreFailure, expected) => {
    const events: DecisionEvent<object>[] = []
    const url = await open({
      limit: 2,
      ...EXACT,
      onStoreFailure,
      store: redisStore(client),
      onDecision(event) {
        events.push(event)
      },
    })
    expect(await statuses(url, 3)).toEqual(expected)
    expect(events.map(({ decision }) => decision.degraded)).toEqual(Array(3).fill(onStoreFailure))
  })

  it.each([
    ["allow", 200],
    ["local", 200],
    ["deny", 429],
  ] as const)(
    "answers with onStoreFailure %s when a store throws in spite of everything",
    async (onStoreFailure, expected) => {
      const events: DecisionEvent<object>[] = []
      const store = memoryStore()
      await store.close()
      const url = await open({
        limit: 2,
        ...EXACT,
        onStoreFailure,
        store,
        onDecision(event) {
          events.push(event)
        },
      })
      expect(await statuses(url, 1)).toEqual([expected])
      expect(events).toMatchObject([{ error: { code: "STORE_CLOSED" } }])
      expect(events[0]?.decision.degraded).toBe(expected === 200 ? "allow" : "deny")
    },
  )
}
