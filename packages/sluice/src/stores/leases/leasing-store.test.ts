import { beforeEach, describe, expect, it } from "vitest"
import { compilePolicy } from "../../policy.js"
import { ManualClock } from "../../testing/manual-clock.js"
import { Namespace } from "../store.js"
import { LeasingStore } from "./leasing-store.js"
import { TestServer } from "./server.test-support.js"

const namespace = new Namespace("test")
const policy = compilePolicy({ algorithm: "fixed-window", limit: 1_000, window: "1m" }, "", true)

let clock: ManualClock
let server: TestServer
let store: LeasingStore

beforeEach(() => {
  clock = new ManualClock()
  server = new TestServer(clock)
  store = new LeasingStore(server, { timers: clock })
})

function charge(cost = 1, key = "a") {
  return [{ namespace, key, policy, cost }]
}

/** Makes a key hot, so that this instance holds a lease of it. */
async function heat(key = "a"): Promise<void> {
  for (let i = 0; i < 5; i++) await store.check(charge(1, key))
}

describe("a lease", () => {
  it("is not taken for a cold key", async () => {
    for (let i = 0; i < 5; i++) {
      expect(await store.check(charge())).toMatchObject({ allowed: true, source: "store" })
      clock.advance(101)
    }
    expect(server.costs("check")).toEqual([1, 1, 1, 1, 1])
  })

  it("is taken with the fourth check within its length, and pays the next checks without a call", async () => {
    for (let i = 0; i < 3; i++) await store.check(charge())
    expect(await store.check(charge())).toMatchObject({ allowed: true, source: "lease" })
    expect(server.costs("check")).toEqual([1, 1, 1, 14])
    const before = server.calls.length
    expect(store.checkEither(charge())).toMatchObject({ allowed: true, source: "lease" })
    expect(server.calls.length).toBe(before)
  })

  it("ends after its length, counted from before the call was sent", async () => {
    await heat()
    clock.advance(99)
    expect(store.checkEither(charge())).not.toBeInstanceOf(Promise)
    clock.advance(101)
    expect(store.checkEither(charge())).toBeInstanceOf(Promise)
  })

  it("pays all checks that came while it was on its way", async () => {
    for (let i = 0; i < 3; i++) await store.check(charge())
    const checks = Array.from({ length: 100 }, () => store.check(charge()))
    for (const outcome of await Promise.all(checks)) expect(outcome.allowed).toBe(true)
    expect(server.calls.length).toBeLessThan(8)
  })

  it("shows what the store left and what the instance has not spent", async () => {
    await heat()
    const { verdicts } = await store.check(charge())
    expect(verdicts[0]).toMatchObject({ remaining: 1_000 - 6, used: 6 })
  })

  it("never takes so much that other instances get less", async () => {
    server.instances = 9
    await server.check(charge(960))
    await heat()
    expect(Math.max(...server.costs("check").slice(1))).toBeLessThanOrEqual(4)
  })

  it("is not taken when little is left: the last units go to whoever asks first", async () => {
    await server.check(charge(997))
    await heat()
    expect(server.costs("check").slice(1)).toEqual([1, 1, 1, 1])
    expect(await store.check(charge())).toMatchObject({ allowed: false })
  })
})

describe("a renewal", () => {
  /** Checks every 2 ms for a while: 50 in the length of a lease. */
  async function spendFor(ms: number): Promise<void> {
    for (let passed = 0; passed < ms; passed += 2) {
      await store.check(charge())
      clock.advance(2)
    }
  }

  it("leaves nothing over if the demand is steady", async () => {
    await spendFor(1_000)
    const { answered, returned } = store.stats
    expect(answered).toBeGreaterThan(450)
    expect(returned).toBeLessThan(10)
    expect(store.stats.calls).toBeLessThan(20)
  })

  it("pauses after a lease that was not spent, twice as long each time, until one is spent", async () => {
    const pauses: number[] = []
    for (let i = 0; i < 3; i++) {
      await heat()
      clock.advance(200)
      const ended = clock.now()
      while (store.stats.held === 0) await spendFor(2)
      pauses.push(Math.round((clock.now() - ended) / 100))
    }
    expect(pauses[1]).toBe(2 * (pauses[0] ?? 0))
    expect(pauses[2]).toBe(4 * (pauses[0] ?? 0))
    await spendFor(300)
    clock.advance(200)
    const ended = clock.now()
    while (store.stats.held === 0) await spendFor(2)
    expect(Math.round((clock.now() - ended) / 100)).toBe(pauses[0])
  })
})

describe("a denial", () => {
  it("is remembered until its retry time or the length of a lease, whichever is sooner", async () => {
    await server.check(charge(1_000))
    await store.check(charge())
    const before = server.calls.length
    expect(store.checkEither(charge())).toMatchObject({ allowed: false, source: "lease" })
    clock.advance(99)
    expect(store.checkEither(charge())).toMatchObject({ allowed: false })
    expect(server.calls.length).toBe(before)
    clock.advance(1)
    expect(store.checkEither(charge())).toBeInstanceOf(Promise)
  })

  it("tells the wait that is left", async () => {
    await server.check(charge(1_000))
    const first = await store.check(charge())
    clock.advance(10)
    const { verdicts } = await store.check(charge())
    expect(verdicts[0]?.retryAfter).toBe((first.verdicts[0]?.retryAfter ?? 0) - 10_000)
  })

  it("of one cost says nothing about another", async () => {
    await server.check(charge(998))
    expect(await store.check(charge(5))).toMatchObject({ allowed: false })
    expect(await store.check(charge(2))).toMatchObject({ allowed: true })
  })
})

describe("what is left of a lease", () => {
  it("is handed back when the lease has ended, with the time of its charge", async () => {
    await heat()
    const chargedAt = clock.now() * 1000
    clock.advance(200)
    await Promise.resolve()
    expect(server.calls.at(-1)).toMatchObject({ operation: "refund", charges: [{ cost: 12, chargedAt }] })
    expect(await server.check(charge(995))).toMatchObject({ allowed: true })
    expect(store.stats).toMatchObject({ held: 0, spent: 2, returned: 12, wasted: 0 })
  })

  it("is handed back at close, and no lease is taken afterwards", async () => {
    await heat()
    await store.close()
    expect(server.costs("refund")).toEqual([12])
    for (let i = 0; i < 5; i++) expect(await store.check(charge())).toMatchObject({ source: "store" })
    expect(clock.pending).toBe(0)
  })

  it("is handed back once only, also if that fails", async () => {
    await heat()
    server.failure = new Error("down")
    clock.advance(1_000)
    await Promise.resolve()
    server.failure = undefined
    clock.advance(1_000)
    expect(server.costs("refund")).toEqual([12])
  })

  it("is dropped with a reset, which has forgotten the charge", async () => {
    await heat()
    await store.reset(charge())
    expect(server.costs("refund")).toEqual([])
    expect(store.checkEither(charge())).toBeInstanceOf(Promise)
    expect(store.stats.held).toBe(0)
  })
})

describe("a store that fails", () => {
  it("does not stop a lease that is held", async () => {
    await heat()
    server.failure = new Error("down")
    for (let i = 0; i < 12; i++) expect(store.checkEither(charge())).toMatchObject({ allowed: true })
    await expect(store.check(charge())).rejects.toThrow("down")
  })

  it("lets each check that waits for a lease fail by itself, with its own onStoreFailure", async () => {
    for (let i = 0; i < 3; i++) await store.check(charge())
    server.failure = new Error("down")
    const checks = Array.from({ length: 3 }, () => store.check(charge(), undefined, "allow"))
    for (const check of checks) await expect(check).rejects.toThrow("down")
    expect(server.costs("check")).toEqual([1, 1, 1, 14, 1, 1, 1])
  })
})

describe("a flood of keys", () => {
  it("takes no leases, and no more rows than the bound", async () => {
    const small = new LeasingStore(server, { timers: clock, maxKeys: 100 })
    for (let i = 0; i < 1_000; i++) await small.check(charge(1, `key${i}`))
    expect(server.costs("check").every((cost) => cost === 1)).toBe(true)
    expect(small.stats).toMatchObject({ keys: 0, held: 0 })
    clock.advance(300)
    clock.advance(300)
    expect(clock.pending).toBe(0)
  })
})
