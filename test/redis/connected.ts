import { createLimiter } from "sluice"
import { connectRedis, type StoreFailureEvent } from "sluice/redis"
import { describe, expect, it } from "vitest"
import { eventually } from "../support/eventually.js"
import type { RedisServer } from "../support/redis/single.js"
import { PATIENT } from "./contract.js"
import { times } from "./one-server.js"

async function connections(servers: readonly RedisServer[]): Promise<number> {
  const lists = await Promise.all(servers.map((server) => server.cli("CLIENT", "LIST", "TYPE", "normal")))
  return lists
    .join("")
    .split("\n")
    .filter((line) => line !== "").length
}

/** Tests of a store by URL: it decides, shares counts with others, and leaves no connection behind. */
export function describeConnected(url: () => string, servers: () => readonly RedisServer[]): void {
  describe("by URL", () => {
    it("decides, and two stores share what they count", async () => {
      const failures: StoreFailureEvent[] = []
      const options = { ...PATIENT, onFailure: (event: StoreFailureEvent) => void failures.push(event) }
      const stores = await Promise.all([connectRedis(url(), options), connectRedis(url(), options)])
      const limiters = stores.map((store) => {
        return createLimiter({
          store,
          prefix: "by-url",
          algorithm: "sliding-window-log",
          limit: 5,
          window: "1h",
        })
      })
      // A Cluster client connects to a node when it needs it; checks are answered locally until then.
      const keys = times(10, (i) => `user ${i}`)
      const isShared = async (): Promise<boolean> => {
        const looks = limiters.flatMap((limiter) => keys.map((key) => limiter.peek(key)))
        return (await Promise.all(looks)).every(({ degraded }) => degraded === undefined)
      }
      await eventually(isShared, { what: "every node is reached" })
      failures.length = 0
      for (const key of keys) {
        const decisions = await Promise.all(times(12, (i) => limiters[i % 2]?.check(key)))
        expect(failures).toEqual([])
        expect(decisions.filter((decision) => decision?.allowed)).toHaveLength(5)
      }
      await Promise.all(stores.map((store) => store.close()))
    })

    it("leaves no connection and no timer behind after close", async () => {
      const before = await connections(servers())
      const store = await connectRedis(url(), PATIENT)
      await createLimiter({ store, prefix: "by-url", limit: 5, window: "1h" }).check("user")
      expect(await connections(servers())).toBeGreaterThan(before)
      await store.close()
      await eventually(async () => (await connections(servers())) <= before, { what: "all are closed" })
    })

    it("can be closed before it was ever used, and twice", async () => {
      const before = await connections(servers())
      const store = await connectRedis(url(), PATIENT)
      await store.close()
      await store.close()
      await eventually(async () => (await connections(servers())) <= before, { what: "all are closed" })
    })
  })
}
