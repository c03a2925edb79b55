// A ring decides as one memory store does, and stays right when everything happens at once.

import fc from "fast-check"
import { describe, expect, it } from "vitest"
import type { Policy } from "../../algorithms/algorithm.js"
import { compilePolicy, type LimitOptions } from "../../policy.js"
import { type Charge, type Check, Namespace, type Store } from "../store.js"
import { remoteStore, stillStore, T } from "./across.test-support.js"
import { shardedStore } from "./sharded-store.js"

const KEYS = ["ada", "bob", "cleo", "dan", "eve", "fay"]

const limits: LimitOptions[] = [
  { algorithm: "fixed-window", limit: 4, window: "10s" },
  { algorithm: "fixed-window", limit: 5, window: "10s", anchor: "first-request" },
  { algorithm: "sliding-window-log", limit: 5, window: "10s" },
  { algorithm: "sliding-window-counter", limit: 6, window: "10s" },
  { algorithm: "sliding-window-counter", limit: 6, window: "10s", buckets: 5 },
  { algorithm: "token-bucket", limit: 7, window: "10s" },
  { algorithm: "leaky-bucket", limit: 3, window: "10s", burst: 6, overflow: "queue" },
  { algorithm: "gcra", limit: 10, window: "10s", maxBurst: 4 },
]
const policies = limits.map((limit) => compilePolicy(limit, "test"))
const namespaces = limits.map((_, i) => new Namespace(`limit ${i}`))

/** A charge as the generators make them, short to read when one fails. */
type Plain = [limit: number, key: string, cost: number]

function charge([limit, key, cost]: Plain): Charge {
  return { namespace: namespaces[limit] as Namespace, key, policy: policies[limit] as Policy, cost }
}

function ringOf(wrap: (store: Store) => Store = (store) => store) {
  return shardedStore(["a", "b", "c"].map((name) => ({ name, store: wrap(stillStore()) })))
}

const limit = fc.nat(limits.length - 1)
const key = fc.constantFrom(...KEYS)
const cost = fc.oneof(fc.integer({ min: 0, max: 4 }), fc.constantFrom(1, 1, 11, Number.MAX_SAFE_INTEGER))
const operation = fc.constantFrom("check", "check", "check", "decide", "charge", "refund", "reset" as const)

interface Step {
  operation: "check" | "decide" | "charge" | "refund" | "reset"
  charges: Plain[]
  /** Microseconds since the step before. */
  gap: number
}

/** Several limits on one key. */
function chargesOf(key: fc.Arbitrary<string>): fc.Arbitrary<Plain[]> {
  return fc
    .tuple(key, fc.uniqueArray(limit, { minLength: 1, maxLength: 3 }), cost)
    .map(([key, limits, cost]) => limits.map((limit): Plain => [limit, key, cost]))
}

const chargesOfOneKey = chargesOf(key)

/** Any limits on any keys, each with its cost, some perhaps twice. */
const chargesOfAnyKeys = fc.array(fc.tuple(limit, key, cost), { minLength: 1, maxLength: 5 })

const forward = fc.oneof(fc.nat(3_000_000), fc.constantFrom(0, 1, 2_000_000, 10_000_000))
const anyway = fc.oneof(forward, fc.integer({ min: -30_000_000, max: 0 }), fc.constant(86_400_000_000))

function steps(charges: fc.Arbitrary<Plain[]>, gap: fc.Arbitrary<number>): fc.Arbitrary<Step[]> {
  return fc.array(fc.record({ operation, charges, gap }), { minLength: 1, maxLength: 60 })
}

function perform(
  store: Store,
  operation: Step["operation"],
  charges: Charge[],
  at: number,
): Promise<unknown> {
  return operation === "reset" ? store.reset(charges) : store[operation](charges, at)
}

async function compare(sequence: Step[]): Promise<void> {
  const ring = ringOf()
  const single = stillStore()
  let at = T
  for (const { operation, charges, gap } of sequence) {
    at += gap
    // Charging without asking is what blocks do; a cost beyond exact arithmetic is not.
    const sane = charges.filter(([, , cost]) => operation !== "charge" || cost < 100).map(charge)
    expect(await perform(ring, operation, sane, at)).toEqual(await perform(single, operation, sane, at))
  }
}

describe("step by step", () => {
  it("decides checks of one key as one store does", async () => {
    await fc.assert(fc.asyncProperty(steps(chargesOfOneKey, forward), compare), { numRuns: 150 })
  })

  it("decides a key like a single store, also when the clock is set back", async () => {
    // A single key: a memory store forgets others that have expired by the latest time it was asked at.
    const sequence = key.chain((key) => steps(chargesOf(fc.constant(key)), anyway))
    await fc.assert(fc.asyncProperty(sequence, compare), { numRuns: 150 })
  })

  it("decides checks of several keys as one store does", async () => {
    await fc.assert(fc.asyncProperty(steps(chargesOfAnyKeys, forward), compare), { numRuns: 150 })
  })

  it("decides a list of checks as one store does, one after the other", async () => {
    // One time per list, for the same reason: unrelated keys may be decided in another order.
    const list = fc.record({
      checks: fc.array(fc.oneof(chargesOfOneKey, chargesOfAnyKeys), { maxLength: 25 }),
      gap: forward,
    })
    await fc.assert(
      fc.asyncProperty(fc.array(list, { minLength: 1, maxLength: 4 }), async (lists) => {
        const ring = ringOf()
        const single = stillStore()
        let at = T
        for (const { checks, gap } of lists) {
          at += gap
          const list = checks.map((charges) => ({ charges: charges.map(charge), at }))
          expect(await ring.checkMany(list)).toEqual(await single.checkMany(list))
        }
      }),
      { numRuns: 150 },
    )
  })

  it("decides a list in order also when answers overtake each other", async () => {
    const list = fc.array(fc.oneof(chargesOfOneKey, chargesOfAnyKeys), { maxLength: 12 })
    await fc.assert(
      fc.asyncProperty(fc.scheduler(), list, async (scheduler, list) => {
        const checks: Check[] = list.map((charges) => ({ charges: charges.map(charge), at: T }))
        const ring = ringOf((store) => remoteStore(store, scheduler))
        const outcomes = await scheduler.waitFor(ring.checkMany(checks))
        expect(outcomes).toEqual(await stillStore().checkMany(checks))
      }),
      { numRuns: 150 },
    )
  })
})

describe("all at once", () => {
  const smallCost = fc.integer({ min: 1, max: 3 })
  const check = fc.array(fc.tuple(limit, key, smallCost), { minLength: 1, maxLength: 4 })
  const checks = fc.array(check, { minLength: 2, maxLength: 15 })

  it("admits on no key more than fits, and leaves nothing charged that was denied", async () => {
    await fc.assert(
      fc.asyncProperty(fc.scheduler(), checks, async (scheduler, lists) => {
        const stores: Store[] = []
        const ring = ringOf((store) => {
          stores.push(store)
          return remoteStore(store, scheduler)
        })
        const used = new Map<string, number>()
        const calls = lists.map(async (list) => {
          const charges = list.map(charge)
          const { allowed } = await ring.check(charges, T)
          if (!allowed) return
          for (const one of charges) {
            const name = `${one.namespace.name} ${one.key}`
            used.set(name, (used.get(name) ?? 0) + one.cost)
          }
        })
        await scheduler.waitFor(Promise.all(calls))
        const quiet = shardedStore(["a", "b", "c"].map((name, i) => ({ name, store: stores[i] as Store })))
        for (let i = 0; i < limits.length; i++) {
          for (const key of KEYS) {
            const { verdicts } = await quiet.check([charge([i, key, 0])], T)
            const taken = used.get(`limit ${i} ${key}`) ?? 0
            expect(verdicts[0]?.remaining).toBe((policies[i] as Policy).capacity - taken)
          }
        }
      }),
      { numRuns: 300 },
    )
  })

  it("admits exactly as many as fit when a thousand checks over several nodes come one by one", async () => {
    const ring = ringOf()
    const outcomes: boolean[] = []
    for (let i = 0; i < 1_000; i++) {
      const charges = [charge([5, KEYS[i % 6] as string, 1]), charge([2, "everybody", 1])]
      outcomes.push((await ring.check(charges, T)).allowed)
    }
    expect(outcomes.filter(Boolean).length).toBe(5)
    const { verdicts } = await ring.check(
      KEYS.map((key) => charge([5, key, 0])),
      T,
    )
    expect(verdicts.reduce((sum, verdict) => sum + verdict.remaining, 0)).toBe(6 * 7 - 5)
  })
})
