import fc from "fast-check"
import { describe, expect, it } from "vitest"
import type { LimitOptions } from "../../policy.js"
import { StoreFailure } from "../fallback/store-failure.js"
import { checkAcross } from "./across.js"
import { Corner, type Fate, remoteStore, T, together } from "./across.test-support.js"

describe("many checks at once, in every order the network may choose", () => {
  const limits: LimitOptions[] = [
    { algorithm: "fixed-window", limit: 4, window: "1m" },
    { algorithm: "token-bucket", limit: 5, window: "1m" },
    { algorithm: "sliding-window-log", limit: 3, window: "1m" },
    { algorithm: "sliding-window-counter", limit: 6, window: "1m" },
    { algorithm: "leaky-bucket", limit: 4, window: "1m", overflow: "queue" },
  ]
  const capacity = limits.map((limit) => limit.limit)
  const check = fc.record({
    places: fc.uniqueArray(fc.nat(limits.length - 1), { minLength: 1, maxLength: 4 }),
    cost: fc.integer({ min: 0, max: 3 }),
  })
  const checks = fc.array(check, { minLength: 2, maxLength: 12 })

  interface Tally {
    /** Per place: units of admitted checks, and of checks whose end is unknown. */
    admitted: number[]
    unknown: number[]
    left: number[]
  }

  async function run(
    scheduler: fc.Scheduler,
    asked: { places: number[]; cost: number }[],
    fate?: () => Fate,
  ): Promise<Tally> {
    const all = limits.map((limit, i) => new Corner(`key ${i}`, limit))
    for (const corner of all) corner.place = remoteStore(corner.memory, scheduler, fate)
    const none = () => limits.map(() => 0)
    const tally: Tally = { admitted: none(), unknown: none(), left: [] }
    const add = (to: number[], { places, cost }: { places: number[]; cost: number }) => {
      for (const place of places) to[place] = (to[place] as number) + cost
    }
    const answers = asked.map(async (one) => {
      const groups = together(
        one.places.map((place) => all[place] as Corner),
        one.cost,
      )
      try {
        const { allowed, verdicts } = await checkAcross(groups, T)
        expect(verdicts.length).toBe(one.places.length)
        expect(verdicts.every((verdict) => verdict.allowed)).toBe(allowed)
        if (allowed) add(tally.admitted, one)
        // A lost refund leaves the units of a denied check charged.
        else if (fate !== undefined) add(tally.unknown, one)
      } catch (error) {
        expect(error).toBeInstanceOf(StoreFailure)
        add(tally.unknown, one)
      }
    })
    await scheduler.waitFor(Promise.all(answers))
    tally.left = await Promise.all(all.map((corner) => corner.left()))
    return tally
  }

  it("never admits too many, and leaves nothing charged but what was admitted", async () => {
    await fc.assert(
      fc.asyncProperty(fc.scheduler(), checks, async (scheduler, asked) => {
        const { admitted, left } = await run(scheduler, asked)
        expect(left).toEqual(capacity.map((units, i) => units - (admitted[i] as number)))
      }),
      { numRuns: 500 },
    )
  })

  it("never admits too many when questions and answers get lost, and leaves at most the costs charged", async () => {
    const fates = fc.infiniteStream(
      fc.oneof(
        { weight: 8, arbitrary: fc.constant<Fate>("arrives") },
        { weight: 1, arbitrary: fc.constant<Fate>("question lost") },
        { weight: 1, arbitrary: fc.constant<Fate>("answer lost") },
      ),
    )
    await fc.assert(
      fc.asyncProperty(fc.scheduler(), checks, fates, async (scheduler, asked, stream) => {
        const { admitted, unknown, left } = await run(scheduler, asked, () => stream.next().value)
        left.forEach((units, i) => {
          const most = (capacity[i] as number) - (admitted[i] as number)
          expect(units).toBeLessThanOrEqual(most)
          expect(units).toBeGreaterThanOrEqual(Math.max(0, most - (unknown[i] as number)))
        })
      }),
      { numRuns: 500 },
    )
  })
})
