// What the calls of a limiter do while this instance holds a lease of the key.

import { afterEach, describe, expect, it } from "vitest"
import { TestServer } from "../stores/leases/server.test-support.js"
import type { Charge } from "../stores/store.js"
import { ManualClock } from "../testing/manual-clock.js"
import { createLimiter, type Limiter } from "./limiter.js"
import type { LimiterOptions } from "./limiter-options.js"

// So long that no lease ends on a busy machine.
const LENGTH = "10m"
/** The first three checks ask the store; the fourth takes these. */
const LEASE = 14

let limiter: Limiter | undefined
afterEach(() => limiter?.close())

function open(options: Partial<LimiterOptions> = {}): { limiter: Limiter; server: TestServer } {
  const server = new TestServer(new ManualClock())
  const limit = { algorithm: "fixed-window", limit: 1_000, window: "1d" } as const
  limiter = createLimiter({
    name: "test",
    store: server,
    leases: { length: LENGTH },
    ...limit,
    ...options,
  } as LimiterOptions)
  return { limiter, server }
}

/** A limiter that holds 12 units of the key "a", after 5 checks. */
async function holding(options: Partial<LimiterOptions> = {}) {
  const opened = open(options)
  for (let i = 0; i < 5; i++) await opened.limiter.check("a")
  expect(opened.limiter.leases).toMatchObject({ held: LEASE - 2, spent: 2 })
  return opened
}

describe("with a held lease", () => {
  it("peek asks the store, where held units count as charged", async () => {
    const { limiter, server } = await holding()
    expect(await limiter.peek("a")).toMatchObject({ remaining: 1_000 - 3 - LEASE, source: "store" })
    expect(server.costs("check").at(-1)).toBe(0)
    expect(limiter.leases?.held).toBe(LEASE - 2)
  })

  it("a check at a time of its own asks the store", async () => {
    const { limiter, server } = await holding()
    const { length } = server.calls
    const at = Date.UTC(2026, 0, 1, 12)
    expect(await limiter.check("a", { at })).toMatchObject({ allowed: true, source: "store" })
    expect(server.calls).toHaveLength(length + 1)
    expect(limiter.leases?.held).toBe(LEASE - 2)
  })

  it("a cost is paid by the lease if it has enough, and otherwise by the store", async () => {
    const { limiter, server } = await holding()
    expect(limiter.checkEither("a", { cost: 5 })).toMatchObject({ allowed: true, source: "lease" })
    expect(limiter.leases?.held).toBe(LEASE - 2 - 5)
    const large = limiter.checkEither("a", { cost: 500 })
    expect(large).toBeInstanceOf(Promise)
    expect(await large).toMatchObject({ allowed: true })
    expect(server.costs("check").at(-1)).toBeGreaterThanOrEqual(500)
  })

  it("a cost beyond what is left is denied, and the lease stays", async () => {
    const { limiter } = await holding()
    expect(await limiter.check("a", { cost: 2_000 })).toMatchObject({ allowed: false, source: "store" })
    expect(limiter.checkEither("a")).toMatchObject({ allowed: true, source: "lease" })
  })

  it("a call with a limit of its own is not paid by the lease of the other limit", async () => {
    const { limiter, server } = await holding()
    const first = await limiter.check("a", { limit: 2_000 })
    expect(first).toMatchObject({ allowed: true, limit: 2_000, source: "store" })
    for (let i = 0; i < 4; i++) await limiter.check("a", { limit: 2_000 })
    const { length } = server.calls
    expect(limiter.checkEither("a", { limit: 2_000 })).toMatchObject({ limit: 2_000, source: "lease" })
    expect(limiter.checkEither("a")).toMatchObject({ limit: 1_000, source: "lease" })
    expect(server.calls).toHaveLength(length)
  })

  it("a call with a burst of its own is leased under that burst, or not at all if too little would be left", async () => {
    const bucket = { algorithm: "token-bucket", limit: 1_000, window: "1d", burst: 1_000 } as const
    const { limiter } = await holding(bucket)
    for (let i = 0; i < 5; i++) await limiter.check("a", { burst: 5_000 })
    expect(limiter.checkEither("a", { burst: 5_000 })).toMatchObject({ limit: 5_000, source: "lease" })
    // Leases of ten minutes would take 7 units of a burst of 20.
    for (let i = 0; i < 5; i++) {
      const decision = await limiter.check("b", { burst: 20 })
      expect(decision).toMatchObject({ allowed: true, limit: 20, remaining: 19 - i })
      expect(decision.source).toBeUndefined()
    }
  })

  it("a block denies the next check, and the units go back to the store", async () => {
    const { limiter, server } = await holding()
    await limiter.block("a", "1h")
    expect(await limiter.check("a")).toMatchObject({ allowed: false, deniedBy: "block" })
    expect(server.costs("refund")).toEqual([LEASE - 2])
    expect(limiter.leases).toMatchObject({ held: 0, returned: LEASE - 2, wasted: 0 })
    await limiter.unblock("a")
    expect(await limiter.check("a")).toMatchObject({ allowed: true, remaining: 1_000 - 6 })
  })

  it("a block of another key leaves the lease alone", async () => {
    const { limiter, server } = await holding()
    await limiter.block("b", "1h")
    expect(server.costs("refund")).toEqual([])
    expect(limiter.leases?.held).toBe(LEASE - 2)
    for (let i = 0; i < 10; i++) expect(await limiter.check("a")).toMatchObject({ allowed: true })
    expect(limiter.checkEither("a")).toMatchObject({ allowed: true, source: "lease" })
    expect(await limiter.check("b")).toMatchObject({ allowed: false, deniedBy: "block" })
  })

  it("a refund goes to the store, and a denial that it lifts is forgotten", async () => {
    const { limiter, server } = await holding()
    await limiter.refund("a", 3)
    expect(server.costs("refund")).toEqual([3])
    expect(limiter.leases?.held).toBe(LEASE - 2)
    await server.memory.check([{ ...(server.calls[0]?.charges[0] as Charge), cost: 1_000 - LEASE }])
    for (let i = 0; i < LEASE - 2; i++) expect((await limiter.check("a")).allowed).toBe(true)
    expect(await limiter.check("a")).toMatchObject({ allowed: false })
    expect(limiter.checkEither("a")).toMatchObject({ allowed: false, source: "lease" })
    await limiter.refund("a", 1)
    expect(await limiter.check("a")).toMatchObject({ allowed: true })
  })

  it("a reset drops the lease, and the store starts anew", async () => {
    const { limiter, server } = await holding()
    await limiter.reset("a")
    expect(server.costs("refund")).toEqual([])
    expect(limiter.leases?.held).toBe(0)
    expect(await limiter.peek("a")).toMatchObject({ remaining: 1_000 })
  })

  it("close hands the units back", async () => {
    const { limiter, server } = await holding()
    await limiter.close()
    expect(server.costs("refund")).toEqual([LEASE - 2])
  })
})

describe("leases together with other limits", () => {
  it("are not taken with a limit of concurrency, and the rate still decides with its margin", async () => {
    const limits = [
      { name: "rate", algorithm: "token-bucket", limit: 1_000, window: "1d" },
      { name: "at once", algorithm: "concurrency", limit: 10, hold: "1m" },
    ] as const
    const server = new HoldingServer(new ManualClock())
    limiter = createLimiter({ prefix: "test", store: server, leases: { length: LENGTH }, limits })
    for (let i = 0; i < 8; i++) {
      const { allowed, hold, source, limits: each } = await limiter.acquire("a")
      // Ten minutes of a limit of 1000 a day are 7 units.
      expect({ allowed, source, left: each?.[0]?.remaining }).toEqual({
        allowed: true,
        source: "store",
        left: 992 - i,
      })
      await hold?.release()
    }
    expect(limiter.leases).toMatchObject({ keys: 0, spent: 0 })
  })

  it("are not taken with a penalty, because the store counts every denial", async () => {
    const { limiter } = open({ penalty: { after: 5, within: "1m", block: "1h" } } as never)
    for (let i = 0; i < 8; i++) expect(await limiter.check("a")).toMatchObject({ source: "store" })
    expect(limiter.leases).toMatchObject({ keys: 0, spent: 0 })
  })
})

class HoldingServer extends TestServer {
  release(...asked: Parameters<TestServer["memory"]["release"]>): Promise<boolean> {
    return this.memory.release(...asked)
  }

  extend(...asked: Parameters<TestServer["memory"]["extend"]>): Promise<boolean> {
    return this.memory.extend(...asked)
  }
}
