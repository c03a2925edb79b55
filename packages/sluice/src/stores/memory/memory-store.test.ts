import { afterEach, beforeEach, describe, expect, it, vi } from "vitest"
import { type ErrorCode, SluiceError } from "../../errors.js"
import { compilePolicy, type LimitOptions } from "../../policy.js"
import { describeStoreContract } from "../../testing/contract/store-contract.js"
import { ManualClock } from "../../testing/manual-clock.js"
import { type Charge, Namespace } from "../store.js"
import { memoryStore } from "./memory-store.js"

describeStoreContract({ name: "the memory store", open: () => memoryStore(), describe, it })

function chargesOf(
  limit: LimitOptions,
  namespace = new Namespace("test"),
): (key: string, cost?: number) => Charge {
  const policy = compilePolicy(limit, "test")
  return (key, cost = 1) => ({ namespace, key, policy, cost })
}

const minutely = { limit: 10, window: "1m" } as const

describe("options", () => {
  const mistakes: [options: object, code: ErrorCode, place: string][] = [
    [{ maxKeys: 0 }, "OPTION_TYPE", "memoryStore.maxKeys"],
    [{ maxKeys: -1 }, "OPTION_TYPE", "memoryStore.maxKeys"],
    [{ maxKeys: 1.5 }, "OPTION_TYPE", "memoryStore.maxKeys"],
    [{ maxKeys: "1000" }, "OPTION_TYPE", "memoryStore.maxKeys"],
    [{ maxKeys: Number.POSITIVE_INFINITY }, "OPTION_TYPE", "memoryStore.maxKeys"],
    [{ onFull: "evict" }, "OPTION_TYPE", "memoryStore.onFull"],
    [{ snapshot: "" }, "OPTION_TYPE", "memoryStore.snapshot"],
    [{ snapshot: 5 }, "OPTION_TYPE", "memoryStore.snapshot"],
    [{ onWarning: "log" }, "OPTION_TYPE", "memoryStore.onWarning"],
    [{ clock: {} }, "OPTION_TYPE", "memoryStore.clock"],
    [{ maxKey: 10 }, "OPTION_UNKNOWN", "memoryStore.maxKey"],
  ]

  it.each(mistakes)("%o is refused with %s at %s", (options, code, place) => {
    const make = () => memoryStore(options)
    expect(make).toThrow(SluiceError)
    expect(make).toThrow(expect.objectContaining({ code, place }))
  })

  it("a misspelt option causes a suggestion", () => {
    expect(() => memoryStore({ maxkeys: 10 } as object)).toThrow(/did you mean maxKeys\?/)
  })
})

describe("what it holds", () => {
  it("only keys that something was charged to", async () => {
    const store = memoryStore()
    const charge = chargesOf(minutely)
    store.checkSync([charge("looked at", 0)])
    store.checkSync([charge("can never pass", 11)])
    await store.refund([charge("never charged", 5)])
    await store.reset([charge("never there")])
    expect(store.stats).toEqual({ keys: 0, bytes: expect.any(Number), evicted: 0, refused: 0 })
    store.checkSync([charge("charged")])
    store.checkSync([charge("charged")])
    expect(store.stats.keys).toBe(1)
    await store.reset([charge("charged")])
    expect(store.stats.keys).toBe(0)
    await store.close()
  })

  it("nothing for a check that another charge denied", () => {
    const store = memoryStore()
    const charge = chargesOf(minutely)
    const tight = chargesOf({ limit: 1, window: "1m" }, new Namespace("tight"))
    store.checkSync([charge("one"), tight("one")])
    for (let i = 0; i < 50; i++) store.checkSync([charge(`new ${i}`), tight("one")])
    expect(store.stats.keys).toBe(2)
  })

  it("the memory of a sliding log in step with its entries", () => {
    const store = memoryStore({ clock: new ManualClock() })
    const charge = chargesOf({ algorithm: "sliding-window-log", limit: 1_000, window: "1m" })
    const start = Date.UTC(2026, 0, 1) * 1000
    for (let i = 0; i < 1_000; i++) store.checkSync([charge("busy")], start + i)
    // 1,000 entries of 16 bytes in a block with room for 1,024.
    expect(store.stats.bytes).toBeLessThan(200_000)
    for (let i = 0; i < 1_000; i++) store.checkSync([charge("one unit each")], start + 60_000_000 * (i + 2))
    expect(store.stats.bytes).toBeLessThan(200_000)
  })
})

describe("the timer", () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] }))
  afterEach(() => void vi.useRealTimers())

  it.each([
    { algorithm: "fixed-window" },
    { algorithm: "sliding-window-log" },
    { algorithm: "sliding-window-counter" },
    { algorithm: "sliding-window-counter", buckets: 6 },
    { algorithm: "token-bucket" },
  ] as const)("%o: reclaims expired keys and their memory, then stops", async (options) => {
    const clock = new ManualClock()
    const store = memoryStore({ clock })
    const charge = chargesOf({ ...minutely, ...options })
    const empty = store.stats.bytes
    expect(vi.getTimerCount()).toBe(0)
    for (let i = 0; i < 50_000; i++) store.checkSync([charge(`key ${i}`, 1 + (i % 10))])
    expect(vi.getTimerCount()).toBe(1)
    const full = store.stats.bytes
    // Nothing has expired yet.
    vi.advanceTimersByTime(10_000)
    expect(store.stats.keys).toBe(50_000)
    clock.advance(120_000)
    vi.advanceTimersByTime(10_000)
    expect(store.stats).toMatchObject({ keys: 0, evicted: 0, refused: 0 })
    expect(store.stats.bytes).toBeLessThanOrEqual(Math.max(empty, full / 100))
    expect(vi.getTimerCount()).toBe(0)
    // And starts again with the next key.
    store.checkSync([charge("later")])
    expect(vi.getTimerCount()).toBe(1)
    await store.close()
    expect(vi.getTimerCount()).toBe(0)
  })

  it("shrinks to what is left, and every key left keeps its state", () => {
    const clock = new ManualClock()
    const store = memoryStore({ clock })
    const short = chargesOf({ algorithm: "token-bucket", limit: 10, window: "1m" })
    for (let i = 0; i < 100_000; i++) store.checkSync([short(`key ${i}`, i < 100 ? 10 : 1)])
    const full = store.stats.bytes
    clock.advance(7_000)
    vi.advanceTimersByTime(60_000)
    expect(store.stats.keys).toBe(100)
    expect(store.stats.bytes).toBeLessThan(full / 50)
    for (let i = 0; i < 100; i++) {
      const { allowed, verdicts } = store.checkSync([short(`key ${i}`, 2)])
      expect([allowed, verdicts[0]?.remaining]).toEqual([false, 1])
    }
  })

  it("moves a key between two checks of it, and the second finds its state", () => {
    const clock = new ManualClock()
    const store = memoryStore({ clock })
    const { namespace, policy } = chargesOf({ algorithm: "token-bucket", limit: 60, window: "1m" })("")
    const remaining = (key: string, cost: number) =>
      store.checkOneSync(namespace, key, policy, cost).remaining
    for (let round = 0; round < 200; round++) {
      for (let i = 0; i < 12; i++) remaining(`short ${round}.${i}`, 1)
      expect(remaining(`long ${round}`, 30)).toBe(30)
      clock.advance(2_000)
      // The short ones have expired: what stood behind them moves up, or into a smaller table.
      vi.advanceTimersByTime(1_000)
      expect(remaining(`long ${round}`, 1)).toBe(31)
    }
  })

  it("moves a growing table on between two checks of a key, and no count is lost", async () => {
    const { policy } = chargesOf({ algorithm: "token-bucket", limit: 1_000, window: "1d" })("")
    for (let round = 0; round < 200; round++) {
      const store = memoryStore({ clock: new ManualClock() })
      const namespace = new Namespace("test")
      const counts: number[] = []
      const check = (key: number) => {
        counts[key] = (counts[key] ?? 0) + 1
        const { remaining } = store.checkOneSync(namespace, `key ${key}`, policy, 1)
        expect(remaining).toBe(1_000 - (counts[key] as number))
      }
      // Each new key may start a larger table or sweep the old one.
      for (let i = 0; i < 60; i++) {
        const seen = (i * 31 + round) % (i + 1)
        check(i)
        check(seen)
        check(seen)
        vi.advanceTimersByTime(1_000)
        check(seen)
        check(i)
        check(seen)
      }
      await store.close()
    }
  })

  it("covers all namespaces", () => {
    const clock = new ManualClock()
    const store = memoryStore({ clock })
    for (let i = 0; i < 500; i++) {
      const charge = chargesOf(
        { limit: 10, window: 1_000 * (1 + (i % 2) * 3_600) },
        new Namespace(`namespace ${i}`),
      )
      store.checkSync([charge("key")])
    }
    clock.advance(10_000)
    vi.advanceTimersByTime(5_000)
    expect(store.stats.keys).toBe(250)
  })

  it("never forgets what a larger burst has lent because a call had a smaller one", () => {
    const clock = new ManualClock()
    const store = memoryStore({ clock })
    const namespace = new Namespace("bursts")
    const wide = chargesOf({ algorithm: "token-bucket", limit: 10, window: "1m", burst: 1_000 }, namespace)
    const narrow = chargesOf({ algorithm: "token-bucket", limit: 9, window: "1m", burst: 1 }, namespace)
    store.checkSync([wide("greedy", 1_000)])
    store.checkSync([narrow("modest")])
    clock.advance(60_000)
    vi.advanceTimersByTime(5_000)
    expect(store.checkSync([wide("greedy", 0)]).verdicts[0]?.remaining).toBe(10)
  })

  it("never forgets what a slow limit counts because a call had a fast one", () => {
    const clock = new ManualClock()
    const store = memoryStore({ clock })
    const namespace = new Namespace("rates")
    const slow = chargesOf({ algorithm: "token-bucket", limit: 10, window: "1h" }, namespace)
    const fast = chargesOf({ algorithm: "token-bucket", limit: 1_000, window: "1s" }, namespace)
    store.checkSync([slow("key", 10)])
    store.checkSync([fast("other")])
    clock.advance(1_000)
    vi.advanceTimersByTime(5_000)
    expect(store.checkSync([slow("key")]).allowed).toBe(false)
  })
})

describe("close", () => {
  it("gives STORE_CLOSED to every later call, with and without a time", async () => {
    const store = memoryStore()
    const charge = chargesOf(minutely)("key")
    const { namespace, key, policy } = charge
    store.checkSync([charge])
    await store.close()
    const refused = expect.objectContaining({ code: "STORE_CLOSED" })
    for (const at of [undefined, Date.now() * 1000]) {
      expect(() => store.checkSync([charge], at)).toThrow(refused)
      expect(() => store.checkOneSync(namespace, key, policy, 1, at)).toThrow(refused)
      await expect(store.check([charge], at)).rejects.toThrow(refused)
      await expect(store.checkMany([{ charges: [charge], at }])).rejects.toThrow(refused)
      await expect(store.charge([charge], at)).rejects.toThrow(refused)
      await expect(store.refund([charge], at)).rejects.toThrow(refused)
    }
    await expect(store.reset([charge])).rejects.toThrow(refused)
  })

  it("frees all memory, and may be called twice", async () => {
    const store = memoryStore()
    const charge = chargesOf(minutely)
    for (let i = 0; i < 1_000; i++) store.checkSync([charge(`key ${i}`)])
    await store.close()
    await store.close()
    expect(store.stats).toMatchObject({ keys: 0, bytes: 0 })
  })
})

it("namespaces work when two stores use them in turn", () => {
  const [one, other] = [memoryStore(), memoryStore()]
  const charge = chargesOf(minutely)
  for (let i = 1; i <= 5; i++) {
    expect(one.checkSync([charge("key")]).verdicts[0]?.remaining).toBe(10 - i)
    expect(other.checkSync([charge("key", 2)]).verdicts[0]?.remaining).toBe(10 - 2 * i)
  }
})

it("an empty key is a key", () => {
  const store = memoryStore()
  const charge = chargesOf({ limit: 1, window: "1m" })
  expect(store.checkSync([charge("")]).allowed).toBe(true)
  expect(store.checkSync([charge("")]).allowed).toBe(false)
  expect(store.stats.keys).toBe(1)
})

it("a counter whose limit is raised beyond 2^26 keeps every count", () => {
  const store = memoryStore({ clock: new ManualClock() })
  const namespace = new Namespace("raised")
  const small = chargesOf({ limit: 1_000, window: "1m" }, namespace)
  const large = chargesOf({ limit: 2 ** 40, window: "1m" }, namespace)
  for (let i = 0; i < 10_000; i++) store.checkSync([small(`key ${i}`, 1 + (i % 1_000))])
  for (let i = 0; i < 10_000; i++) {
    const { verdicts } = store.checkSync([large(`key ${i}`, 2 ** 39)])
    expect(verdicts[0]?.remaining).toBe(2 ** 39 - 1 - (i % 1_000))
  }
  for (let i = 0; i < 10_000; i++) expect(store.checkSync([small(`key ${i}`)]).allowed).toBe(false)
})

it("a check of one charge and of a list decide the same", () => {
  const [one, list] = [memoryStore(), memoryStore()]
  const start = Date.UTC(2026, 0, 1) * 1000
  for (const limit of [minutely, { ...minutely, algorithm: "gcra" }] as const) {
    const charge = chargesOf(limit, new Namespace(JSON.stringify(limit)))("key")
    for (let i = 0; i < 500; i++) {
      const at = start + ((i * 7_919) % 400) * 1_000_000
      const cost = i % 4
      const single = one.checkOneSync(charge.namespace, charge.key, charge.policy, cost, at)
      const { now, degraded, verdicts } = list.checkSync([{ ...charge, cost }], at)
      expect(single).toEqual({ now, degraded, ...verdicts[0] })
    }
  }
})
