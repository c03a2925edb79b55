import fc from "fast-check"
import { createLimiter } from "sluice"
import { ManualClock } from "sluice/testing"
import { describe, expect, it } from "vitest"
import { penaltyScenarios, seenBy } from "../../packages/sluice/src/limiter/penalty.test-support.js"
import { useRedis } from "./one-server.js"

const redis = useRedis()
const PENALTY = { after: 2, within: "10s", block: "1m" }

describe("a penalty in Redis", () => {
  it("decides as one in memory does", async () => {
    const store = await redis.store()
    let run = 0
    await fc.assert(
      fc.asyncProperty(penaltyScenarios, async (scenario) => {
        const options = { ...scenario.limit, penalty: scenario.penalty, prefix: `run${run++}` }
        const clocks = [new ManualClock(), new ManualClock()] as const
        const memory = createLimiter({ ...options, clock: clocks[0] })
        const shared = createLimiter({ ...options, clock: clocks[1], store })
        expect(await seenBy(shared, clocks[1], scenario)).toEqual(await seenBy(memory, clocks[0], scenario))
      }),
      { numRuns: 40 },
    )
  })

  it("counts the denials of the whole fleet, each once", async () => {
    const stores = [await redis.store(), await redis.store({ denyCache: true }, "node-redis")]
    const options = {
      name: "login",
      limit: 1,
      window: "1h",
      penalty: { ...PENALTY, after: 10 },
      prefix: "fleet",
    }
    const fleet = stores.map((store) => createLimiter({ ...options, store }))
    const [first, second] = fleet as [(typeof fleet)[0], (typeof fleet)[0]]
    await first.check("user")
    const decisions = await Promise.all(
      Array.from({ length: 9 }, (_, i) => (i % 2 ? first : second).check("user")),
    )
    expect(decisions.every(({ deniedBy }) => deniedBy === "login")).toBe(true)
    await second.check("user")
    const blocked = await first.peek("user")
    expect(blocked.allowed).toBe(false)
    await second.unblock("user")
    expect((await first.peek("user")).allowed).toBe(true)
  })

  it("lists a bounded number of blocked keys, without a scan", async () => {
    const store = await redis.store()
    const limiter = createLimiter({ limit: 1, window: "1h", name: "many", prefix: "many", store })
    const key = "s1:{fleet:many}:blocked"
    const later = String(Date.now() + 3_600_000)
    const filled = Array.from({ length: 10_000 }, (_, i) => [later, `["many:block","key ${i}"]`])
    await redis.server.cli("ZADD", key, ...filled.flat())
    await redis.server.cli("PEXPIRE", key, "60000")
    await redis.server.cli("CONFIG", "RESETSTAT")
    await limiter.block("new", "2h")
    expect(await redis.server.cli("ZCARD", key)).toBe(10_000)
    expect(await redis.server.cli("PTTL", key)).toBeGreaterThan(7_100_000)
    const { keys, isComplete } = await store.blocked("many", 20)
    expect(keys).toMatchObject([{ namespace: "many:block", key: "new" }])
    expect(isComplete).toBe(false)
    const commands = String(await redis.server.cli("INFO", "commandstats"))
    expect(commands).toContain("cmdstat_zrange")
    expect(commands).not.toMatch(/cmdstat_(keys|scan)/)
  })

  it("leaves a key of another type alone", async () => {
    const store = await redis.store()
    const limiter = createLimiter({
      limit: 1,
      window: "1h",
      penalty: PENALTY,
      prefix: "typed",
      name: "typed",
      store,
    })
    const key = "s1:typed:sc:typed:penalty:{user}"
    await redis.server.cli("LPUSH", key, "mine")
    await redis.server.cli("EXPIRE", key, "60")
    for (let i = 0; i < 4; i++) await limiter.check("user")
    expect(await redis.server.cli("LRANGE", key, "0", "-1")).toEqual(["mine"])
  })

  it("expires", async () => {
    const store = await redis.store()
    const limiter = createLimiter({
      name: "old",
      limit: 1,
      window: "1h",
      penalty: PENALTY,
      prefix: "old",
      store,
    })
    await limiter.check("user")
    await limiter.check("user")
    const counting = await redis.server.cli("PTTL", "s1:old:sc:old:penalty:{user}")
    expect(counting).toBeGreaterThan(9_000)
    expect(counting).toBeLessThanOrEqual(11_000)
    await limiter.check("user")
    const blocked = await redis.server.cli("PTTL", "s1:old:sc:old:penalty:{user}")
    expect(blocked).toBeGreaterThan(86_400_000)
    expect(blocked).toBeLessThanOrEqual(86_400_000 + 61_000)
  })
})
