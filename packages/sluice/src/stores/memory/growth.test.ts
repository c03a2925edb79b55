// The table under load, beside a Map that holds one state per key for ever: however often the table grows, shrinks,
// sweeps and moves, every decision is the same.

import { afterEach, describe, expect, it, vi } from "vitest"
import type { Policy, Verdict } from "../../algorithms/algorithm.js"
import { newVerdict } from "../../algorithms/algorithm.js"
import { compilePolicy, type LimitOptions } from "../../policy.js"
import { ManualClock } from "../../testing/manual-clock.js"
import { Namespace } from "../store.js"
import { memoryStore } from "./memory-store.js"
import { Table } from "./table.js"

afterEach(() => void vi.useRealTimers())

/** Pseudo-random numbers that are the same in every run. */
function numbersFrom(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * below)
  }
}

/** A model of the table: the same arithmetic, each state in its own array, nothing ever moved or removed. */
class Model {
  readonly #policy: Policy
  readonly #states = new Map<string, Float64Array>()
  readonly #verdict = newVerdict()

  constructor(policy: Policy) {
    this.#policy = policy
  }

  check(key: string, cost: number, now: number): Verdict {
    const { algorithm } = this.#policy
    const state = this.#stateOf(key)
    algorithm.decide(this.#policy, state, 0, cost, now, this.#verdict)
    const { allowed, stale } = this.#verdict
    if (cost > 0 && (allowed || stale)) algorithm.charge(this.#policy, state, 0, allowed ? cost : 0, now)
    return this.#verdict
  }

  refund(key: string, cost: number, now: number): void {
    this.#policy.algorithm.refund(this.#policy, this.#stateOf(key), 0, cost, now)
  }

  reset(key: string): void {
    this.#states.delete(key)
  }

  #stateOf(key: string): Float64Array {
    let state = this.#states.get(key)
    if (state === undefined) {
      const { algorithm } = this.#policy
      // No more than 8 units ever count at once, so 16 entries are enough for a state that grows.
      state = new Float64Array(algorithm.growing?.cells(16) ?? algorithm.cells(this.#policy))
      algorithm.growing?.init(state, 0, 16)
      this.#states.set(key, state)
    }
    return state
  }
}

interface Load {
  readonly keys: number
  readonly limit: LimitOptions
}

const loads: Load[] = [
  { keys: 200_000, limit: { algorithm: "sliding-window-counter", limit: 8, window: "1m" } },
  { keys: 200_000, limit: { algorithm: "token-bucket", limit: 8, window: "1m" } },
  { keys: 60_000, limit: { algorithm: "sliding-window-log", limit: 8, window: "1m" } },
  { keys: 30_000, limit: { algorithm: "concurrency", limit: 8, hold: "1m" } },
  { keys: 40_000, limit: { algorithm: "sliding-window-counter", limit: 8, window: "1m", buckets: 4 } },
  { keys: 40_000, limit: { algorithm: "fixed-window", limit: 8, window: "1m", anchor: "first-request" } },
]

describe.each(loads)("$keys keys under $limit", ({ keys, limit }) => {
  it("every decision equals that of a Map without expiry", async () => {
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] })
    const number = numbersFrom(keys)
    const policy = compilePolicy(limit, "growth")
    const namespace = new Namespace("growth")
    const clock = new ManualClock()
    const store = memoryStore({ clock })
    const model = new Model(policy)
    const now = () => Math.round(clock.now() * 1000)
    let most = 0
    let least = Number.POSITIVE_INFINITY
    let denied = 0

    const step = (key: string): Promise<void> | undefined => {
      const what = number(100)
      const cost = number(4)
      if (what < 90) {
        const verdict = store.checkOneSync(namespace, key, policy, cost)
        const expected = model.check(key, cost, now())
        if (!expected.allowed) denied++
        // Compared by hand first: a matcher for each of a million steps would take minutes.
        if (!isSame(verdict, expected)) {
          expect({ key, ...verdict }).toMatchObject({ key, now: now(), ...expected })
        }
        return undefined
      }
      const charges = [{ namespace, key, policy, cost }]
      if (what < 95) {
        model.refund(key, cost, now())
        return store.refund(charges)
      }
      model.reset(key)
      return store.reset(charges)
    }

    // Growth with time nearly standing still, then keys that expire while others come, a lull in which the table
    // shrinks, and growth once more while it is still moving.
    const phases = [
      { steps: keys * 1.5, among: keys, advance: 0.01, tick: false },
      { steps: keys * 0.75, among: keys, advance: 0.4, tick: true },
      { steps: 5_000, among: 500, advance: 40, tick: true },
      { steps: keys * 0.75, among: keys, advance: 0.05, tick: true },
    ]
    for (const { steps, among, advance, tick } of phases) {
      for (let i = 0; i < steps; i++) {
        const done = step(`key ${number(among)}`)
        if (done !== undefined) await done
        if (number(4) === 0) clock.advance(number(1_000) * 0.004 * advance)
        if (i % 256 !== 0) continue
        if (tick && number(4) === 0) vi.advanceTimersByTime(1_000)
        const held = store.stats.keys
        if (held > most) most = held
        else if (held < least && most > keys / 2) least = held
      }
    }
    // The load was what it is meant to be.
    expect(most).toBeGreaterThan(keys * 0.5)
    expect(least).toBeLessThan(keys * 0.1)
    expect(denied).toBeGreaterThan(keys * 0.01)
    expect(store.stats).toMatchObject({ evicted: 0, refused: 0 })
    await store.close()
  }, 120_000)
})

function isSame(a: Verdict, b: Verdict): boolean {
  return (
    a.allowed === b.allowed &&
    a.remaining === b.remaining &&
    a.retryAfter === b.retryAfter &&
    a.resetAfter === b.resetAfter &&
    a.delay === b.delay
  )
}

it("every key of a run over the end of a table is found while the table moves", () => {
  const policy = compilePolicy({ algorithm: "token-bucket", limit: 8, window: "1m" }, "growth")
  const table = new Table({ keys: 0, blocks: 0, slots: 0 }, policy)
  const now = 1_000_000
  // The last slot is the home of all of them: they form one run, which continues at the front.
  const high = -1
  for (let low = 1; low <= 300; low++) {
    expect(table.find(low, high)).toBe(false)
    table.insert(low, high, now, 1_000)
    table.charge(policy, 1, now)
    for (let before = low; before > 0; before--) expect(table.find(before, high), `${before}`).toBe(true)
  }
})
