// Several charges in one check: all or nothing. Several checks in one call: each for itself.

import type { Verdict } from "../../algorithms/algorithm.js"
import { Namespace } from "../../stores/store.js"
import { answer, Counter, type DefineTest, freshName, second } from "./counter.js"
import { expectFields, expectSame } from "./expect.js"
import { CAPACITY, variants } from "./policies.js"

export function severalCharges(test: DefineTest): void {
  for (const place of ["first", "second", "last"]) {
    test(`nothing is drained when the ${place} of three charges denies`, async (store) => {
      const counters = variants.slice(0, 3).map(({ limit }) => new Counter(store, limit))
      const full = counters[["first", "second", "last"].indexOf(place)] as Counter
      await full.check(second(1), CAPACITY)
      for (let i = 0; i < 15; i++) {
        const { allowed } = await store.check(
          counters.map((counter) => counter.charge(2)),
          second(2),
        )
        expectSame(allowed, false, `try ${i + 1}`)
      }
      for (const counter of counters) {
        const remaining = counter === full ? 0 : CAPACITY
        expectFields(
          await counter.peek(second(2)),
          { remaining },
          counter === full ? "the full one" : "another one",
        )
      }
    })
  }

  test("charges of every algorithm together are one decision", async (store) => {
    const counters = variants.map(({ limit }) => new Counter(store, limit))
    const charges = (cost: number) => counters.map((counter) => counter.charge(cost))
    const first = await store.check(charges(6), second(5))
    expectSame(first.allowed, true, "6 of 10 everywhere")
    expectSame(
      first.verdicts.map((verdict) => verdict.remaining),
      counters.map(() => 4),
      "what is left",
    )
    const second5 = await store.check(charges(5), second(5))
    expectSame(second5.allowed, false, "5 more")
    expectSame(
      second5.verdicts.map((verdict) => verdict.allowed),
      counters.map(() => false),
      "denied everywhere",
    )
    const third = await store.check(charges(4), second(5))
    expectSame(
      third.verdicts.map((verdict) => verdict.remaining),
      counters.map(() => 0),
      "the rest",
    )
  })

  test("each verdict belongs to its own charge, in order", async (store) => {
    const tight = new Counter(store, { algorithm: "token-bucket", limit: 1, window: "10s" })
    const wide = new Counter(store, { algorithm: "fixed-window", limit: 50, window: "1m" })
    await store.check([wide.charge(7), tight.charge()], second(0))
    const { allowed, verdicts } = await store.check([wide.charge(3), tight.charge()], second(1))
    expectSame(allowed, false, "together")
    expectFields(verdicts[1] as Verdict, { allowed: false, remaining: 0, retryAfter: 9e6 }, "the tight one")
    expectFields(verdicts[0] as Verdict, { allowed: true, retryAfter: 0 }, "the wide one")
  })

  for (const { title, limit } of variants) {
    test(`${title}: a charge that would have been allowed shows what is left when another denies`, async (store) => {
      const full = new Counter(store, { algorithm: "fixed-window", limit: 1, window: "1m" })
      const counter = new Counter(store, limit)
      await full.check(second(1))
      // Nothing was charged, so a key never used is still one.
      const { verdicts: unused } = await store.check([counter.charge(3), full.charge()], second(2))
      expectFields(unused[0] as Verdict, { remaining: CAPACITY, resetAfter: 0, delay: 0 }, "a key never used")
      await counter.check(second(2), 4)
      const { verdicts: used } = await store.check([counter.charge(3), full.charge()], second(2))
      const { remaining, resetAfter } = await counter.peek(second(2))
      expectFields(used[0] as Verdict, { remaining, resetAfter }, "a used key")
    })

    test(`${title}: the same key twice in one check counts as the sum`, async (store) => {
      const counter = new Counter(store, limit)
      const twice = async (a: number, b: number, other = counter) => {
        const { allowed } = await store.check([counter.charge(a), other.charge(b)], second(3))
        return allowed
      }
      expectSame(await twice(6, 5), false, "6 and 5 of 10")
      expectFields(await counter.peek(second(3)), { remaining: CAPACITY }, "after that")
      expectSame(await twice(3, 3), true, "3 and 3 of 10")
      expectFields(await counter.peek(second(3)), { remaining: 4 }, "after that")
      const sameName = new Counter(store, limit, new Namespace(counter.namespace.name))
      expectSame(
        await twice(3, 3, sameName),
        false,
        "3 and 3 of the 4 left, through two namespaces of one name",
      )
      expectSame(
        await twice(2, 2, sameName),
        true,
        "2 and 2 of the 4 left, through two namespaces of one name",
      )
      expectFields(await counter.peek(second(3)), { remaining: 0 }, "at the end")
    })
  }

  test("checkMany answers in order, each check seeing those before it", async (store) => {
    const counter = new Counter(store, { algorithm: "sliding-window-log", limit: 3, window: "1m" })
    const other = new Counter(store, { algorithm: "token-bucket", limit: 1, window: "1m" })
    const outcomes = await store.checkMany([
      { charges: [counter.charge(2)], at: second(1) },
      { charges: [other.charge(1, "a")], at: second(2) },
      { charges: [counter.charge(2)], at: second(3) },
      { charges: [counter.charge(1)], at: second(4) },
      { charges: [other.charge(1, "b")], at: second(5) },
      { charges: [other.charge(1, "a")], at: second(6) },
      { charges: [counter.charge(0)], at: second(7) },
    ])
    expectSame(
      outcomes.map((outcome) => outcome.allowed),
      [true, true, false, true, true, false, true],
      "who passes",
    )
    expectSame(
      outcomes.map((outcome) => outcome.verdicts[0]?.remaining),
      [1, 0, 1, 0, 0, 0, 0],
      "what is left after each",
    )
    expectSame(
      outcomes.map((outcome) => outcome.now),
      [1, 2, 3, 4, 5, 6, 7].map(second),
      "when",
    )
  })

  test("checkMany decides as the same checks one by one", async (store) => {
    const keys = ["a", "b", "c"]
    const names = [freshName(), freshName()]
    const [together, apart] = names.map((name) =>
      variants.map(({ limit }, i) => new Counter(store, limit, new Namespace(`${name}:${i}`))),
    ) as [Counter[], Counter[]]
    const checksOn = (counters: Counter[]) =>
      Array.from({ length: 60 }, (_, i) => ({
        charges: [0, 1].map((j) => {
          const counter = counters[(i * 7 + j * 3) % counters.length] as Counter
          return counter.charge(1 + ((i + j) % 5), keys[i % 3])
        }),
        at: second(i),
      }))
    const many = await store.checkMany(checksOn(together))
    for (const [i, { charges, at }] of checksOn(apart).entries()) {
      const { allowed, verdicts } = await store.check(charges, at)
      expectSame(many[i]?.allowed, allowed, `check ${i}`)
      expectSame(many[i]?.verdicts.map(answer), verdicts.map(answer), `the verdicts of check ${i}`)
    }
  })

  test("checkMany of nothing is nothing", async (store) => {
    expectSame(await store.checkMany([]), [], "no outcomes")
  })
}
