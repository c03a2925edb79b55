// Deciding without charging.

import type { Verdict } from "../../algorithms/algorithm.js"
import type { Store } from "../../stores/store.js"
import { type Answer, answer, Counter, type DefineTest, second } from "./counter.js"
import { expectFields, expectSame } from "./expect.js"
import { CAPACITY, variants } from "./policies.js"

async function decide(
  store: Store,
  counter: Counter,
  at: number,
  cost: number,
  key?: string,
): Promise<Answer> {
  const { verdicts } = await store.decide([counter.charge(cost, key)], at)
  return answer(verdicts[0] as Verdict)
}

export function deciding(test: DefineTest): void {
  for (const { title, limit } of variants) {
    test(`${title}: decide returns what check would decide, and what is left without the charge`, async (store) => {
      const counter = new Counter(store, limit)
      for (const [at, cost] of [
        [1, 4],
        [5, 3],
        [9, 9],
        [14, 2],
        [20, 10],
        [61, 5],
        [130, 8],
      ] as const) {
        const before = await counter.peek(second(at))
        const told = await decide(store, counter, second(at), cost)
        expectSame(
          await decide(store, counter, second(at), cost),
          told,
          `cost ${cost} at ${at} s, asked again`,
        )
        const { remaining, resetAfter } = before
        expectFields(told, { remaining, resetAfter }, `what is left before cost ${cost} at ${at} s`)
        const { allowed, retryAfter, delay } = told
        const checked = await counter.check(second(at), cost)
        expectFields(checked, { allowed, retryAfter, delay }, `the check of cost ${cost} at ${at} s`)
      }
    })

    test(`${title}: decide on a key never used leaves it so`, async (store) => {
      const counter = new Counter(store, limit)
      const told = await decide(store, counter, second(7), 4)
      expectSame(
        told,
        { allowed: true, remaining: CAPACITY, used: 0, retryAfter: 0, resetAfter: 0, delay: 0 },
        "untouched",
      )
      expectSame(
        await counter.check(second(21), 4),
        await counter.check(second(21), 4, "other"),
        "then charged",
      )
    })
  }

  test("decide takes several charges as one decision", async (store) => {
    const full = new Counter(store, { algorithm: "fixed-window", limit: 2, window: "1m" })
    const free = new Counter(store, { algorithm: "token-bucket", limit: 2, window: "1m" })
    await full.check(second(1), 2)
    const together = await store.decide([free.charge(), full.charge()], second(2))
    expectSame(together.allowed, false, "together")
    expectSame(
      together.verdicts.map((verdict) => verdict.allowed),
      [true, false],
      "one by one",
    )
    expectSame(together.now, second(2), "when")
    const alone = await store.decide([free.charge(2), free.charge(1)], second(2))
    expectSame(alone.allowed, false, "the same key twice, as the sum")
  })
}
