import { describe, expect, it } from "vitest"
import { LIBRARIES } from "./clients.js"
import { Counter, callsOf, forgetCalls, times, useRedis } from "./one-server.js"

const redis = useRedis()
const AT = Date.UTC(2026, 0, 1) * 1000

describe.each(LIBRARIES)("a server that lost the script, through %s", (library) => {
  it("is sent the source once, and the digest from then on", async () => {
    const store = await redis.store({}, library)
    const counter = new Counter(store, { algorithm: "fixed-window", limit: 100, window: "1h" })
    await redis.server.cli("SCRIPT", "FLUSH")
    await forgetCalls(redis.server)
    for (let i = 0; i < 5; i++) expect(await counter.check(AT)).toMatchObject({ remaining: 99 - i })
    expect(await callsOf(redis.server, "eval")).toBe(1)
    expect(await callsOf(redis.server, "evalsha")).toBe(5)
  })

  it("counts no check twice when it loses the script before every one", async () => {
    const store = await redis.store({}, library)
    const counter = new Counter(store, { algorithm: "sliding-window-log", limit: 100, window: "1h" })
    for (let i = 0; i < 20; i++) {
      await redis.server.cli("SCRIPT", "FLUSH")
      expect(await counter.check(AT)).toMatchObject({ allowed: true, remaining: 99 - i })
    }
  })

  it("runs the checks of one checkMany in order, whatever form their calls have", async () => {
    const store = await redis.store({}, library)
    const counter = new Counter(store, { algorithm: "token-bucket", limit: 1_000, window: "1h" })
    const other = new Counter(store, { algorithm: "gcra", limit: 1_000, window: "1h" })
    await counter.check(AT)
    await redis.server.cli("SCRIPT", "FLUSH")
    // 32 of several charges each, in the general form of a call, then 32 in the compact form, then both once more.
    const checks = times(128, (i) => {
      const isCompact = Math.floor(i / 32) % 2 === 1
      return { charges: isCompact ? [counter.charge()] : [counter.charge(), other.charge()], at: AT }
    })
    const outcomes = await store.checkMany(checks)
    expect(outcomes.map(({ verdicts }) => verdicts[0]?.remaining)).toEqual(times(128, (i) => 998 - i))
  })

  it("admits exactly the limit while it loses the script again and again", async () => {
    const store = await redis.store({}, library)
    const counter = new Counter(store, { algorithm: "token-bucket", limit: 700, window: "1h" })
    const flusher = await redis.server.connect()
    let done = false
    let flushes = 0
    const flushing = (async () => {
      while (!done) {
        await flusher.command("SCRIPT", "FLUSH", "SYNC")
        flushes++
      }
    })()
    await forgetCalls(redis.server)
    const waves = await Promise.all(
      times(10, async () => {
        const passed: boolean[] = []
        for (let i = 0; i < 100; i++) passed.push((await counter.check(AT)).allowed)
        return passed.filter(Boolean).length
      }),
    )
    done = true
    await flushing
    flusher.close()
    expect(waves.reduce((sum, passed) => sum + passed, 0)).toBe(700)
    expect(await counter.peek(AT)).toMatchObject({ remaining: 0 })
    // Without this the test would have tried nothing.
    expect(flushes).toBeGreaterThan(20)
    expect(await callsOf(redis.server, "eval")).toBeGreaterThan(5)
  })
})
