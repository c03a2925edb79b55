import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { newVerdict, type Policy } from "../../algorithms/algorithm.js"
import { slidingWindowCounter } from "../../algorithms/sliding-window-counter.js"
import { compilePolicy } from "../../policy.js"
import { Namespace } from "../store.js"
import { compactCounter, fitsCompactCounter, isCompact, widen } from "./compact-counter.js"
import { memoryStore } from "./memory-store.js"

const START = Date.UTC(2026, 0, 1) * 1000
const DAY = 86_400_000_000

function counter(limit: number, window: number): Policy {
  return compilePolicy({ algorithm: "sliding-window-counter", limit, window }, "compact")
}

type Step =
  | { what: "check" | "refund" | "charge"; policy: number; cost: number; after: number }
  | { what: "look"; policy: number; cost: number; after: number }

const step: fc.Arbitrary<Step> = fc.record({
  what: fc.constantFrom("check", "check", "check", "look", "refund", "charge"),
  policy: fc.integer({ min: 0, max: 2 }),
  cost: fc.oneof(fc.integer({ min: 0, max: 12 }), fc.integer({ min: 0, max: 2 ** 20 })),
  // Mostly forward in steps around the window, at times back, and at times a wrong clock.
  after: fc.oneof(
    fc.integer({ min: 0, max: 2_000 }),
    fc.integer({ min: 0, max: 30_000_000 }),
    fc.integer({ min: 0, max: 2 * DAY }),
    fc.constantFrom(
      1,
      9_999_999,
      10_000_000,
      10_000_001,
      20_000_000,
      -1,
      -5_000_000,
      -100_000_000,
      500_000_000,
    ),
  ),
})

const limits = fc.oneof(fc.integer({ min: 1, max: 20 }), fc.integer({ min: 1, max: 2 ** 22 }))
/** In a day, a limit over 100,000 goes beyond what one product in a double can hold. */
const windows = fc.oneof(
  fc.constantFrom(10_000, 20_000, 60_000),
  fc.integer({ min: 1, max: 100_000 }),
  fc.constant(DAY / 1000),
)

describe("the compact counter", () => {
  it("decides and keeps exactly what the sliding window counter does", () => {
    const policies = fc.tuple(fc.tuple(limits, windows), fc.tuple(limits, windows), fc.tuple(limits, windows))
    fc.assert(
      fc.property(policies, fc.array(step, { maxLength: 60 }), (numbers, steps) => {
        // Mostly one policy; the others are a changed limit or window on a live key.
        const known = numbers.map(([limit, window]) => counter(limit, window))
        const compact = new Float64Array(3)
        const full = new Float64Array(4)
        let now = START
        for (const { what, policy: index, cost, after } of steps) {
          now += after
          // A table takes the full form for these.
          if (what === "charge" && !fitsCompactCounter(compact, 0, cost)) continue
          const policy = known[after % 5 === 0 ? index : 0] as Policy
          if (what === "look" || what === "check") {
            const [mine, theirs] = [newVerdict(), newVerdict()]
            const state = Array.from(compact)
            compactCounter.decide(policy, compact, 0, cost, now, mine)
            slidingWindowCounter.decide(policy, full, 0, cost, now, theirs)
            expect(mine).toEqual(theirs)
            expect(Array.from(compact)).toEqual(state)
            if (what === "look") continue
            // `check` does both at once.
            compactCounter.check(policy, compact, 0, cost, now, mine)
            slidingWindowCounter.check(policy, full, 0, cost, now, theirs)
            expect(mine).toEqual(theirs)
          } else {
            compactCounter[what](policy, compact, 0, cost, now)
            slidingWindowCounter[what](policy, full, 0, cost, now)
          }
          const wide = new Float64Array(4)
          widen(compact, 0, wide, 0)
          expect(Array.from(wide)).toEqual(Array.from(full))
          expect(compactCounter.used(policy, compact, 0, now)).toBe(
            slidingWindowCounter.used(policy, full, 0, now),
          )
          const expires = slidingWindowCounter.expiresAt(policy, full, 0)
          expect(compactCounter.expiresAt(policy, compact, 0)).toBe(expires)
        }
      }),
      { numRuns: 1_000 },
    )
  })

  it("is used up to a limit of 2^22 and one bucket", () => {
    expect(isCompact(counter(2 ** 22, 60_000))).toBe(true)
    expect(isCompact(counter(2 ** 22 + 1, 60_000))).toBe(false)
    const buckets = compilePolicy(
      { algorithm: "sliding-window-counter", limit: 5, window: 60_000, buckets: 2 },
      "",
    )
    expect(isCompact(buckets)).toBe(false)
    expect(isCompact(compilePolicy({ algorithm: "fixed-window", limit: 5, window: 60_000 }, ""))).toBe(false)
  })

  it("stays at its largest count when more is charged without asking", () => {
    const policy = counter(100, 60_000)
    const cells = new Float64Array(3)
    for (const cost of [2 ** 25, 2 ** 25, 2 ** 40, Number.MAX_SAFE_INTEGER]) {
      compactCounter.charge(policy, cells, 0, cost, START)
    }
    const verdict = newVerdict()
    compactCounter.decide(policy, cells, 0, 1, START, verdict)
    expect(verdict).toMatchObject({ allowed: false, remaining: 0 })
    compactCounter.decide(policy, cells, 0, 1, START + 120_000_000, verdict)
    expect(verdict).toMatchObject({ allowed: true, remaining: 99 })
  })

  it.each([100, 2 ** 22, 2 ** 25, 2 ** 26 - 1])(
    "counts every unit in a store with a limit of %i",
    async (limit) => {
      const policy = counter(limit, 60_000)
      const store = memoryStore({ clock: { now: () => 0 } })
      const full = new Float64Array(4)
      const charge = (cost: number, key = "key") => ({ namespace, key, policy, cost })
      const namespace = new Namespace("clipped")
      await store.charge([charge(3, "another")], START)
      for (const cost of [5, 2 ** 25, 2 ** 26, 2 ** 30]) {
        await store.charge([charge(cost)], START)
        slidingWindowCounter.charge(policy, full, 0, cost, START)
      }
      // Refunds and the way the counts fade show how much was kept.
      const later = START + 90_000_000
      for (const [at, refund] of [
        [START, 2 ** 30],
        [START, 2 ** 26],
        [later, 7],
        [later, 2 ** 25 - 90],
      ] as const) {
        await store.refund([charge(refund)], at)
        slidingWindowCounter.refund(policy, full, 0, refund, at)
        const verdict = newVerdict()
        slidingWindowCounter.decide(policy, full, 0, 1, at, verdict)
        expect((await store.decide([charge(1)], at)).verdicts[0]?.retryAfter).toBe(verdict.retryAfter)
      }
      expect((await store.decide([charge(0, "another")], START)).verdicts[0]?.remaining).toBe(limit - 3)
      await store.close()
    },
  )
})
