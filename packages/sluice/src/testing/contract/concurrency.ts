// Many at once: read, then write would let about 400 of 1,000 through a limit of 5.

import { Counter, type DefineTest, second } from "./counter.js"
import { expectSame } from "./expect.js"
import { CAPACITY, variants } from "./policies.js"

const MANY = 1_000

function times<T>(count: number, make: (i: number) => T): T[] {
  return Array.from({ length: count }, (_, i) => make(i))
}

export function concurrency(test: DefineTest): void {
  for (const { title, limit } of variants) {
    test(`${title}: of ${MANY} checks at once exactly as many pass as fit`, async (store) => {
      const counter = new Counter(store, limit)
      const answers = await Promise.all(times(MANY, () => counter.check(second(1), 2)))
      expectSame(answers.filter(({ allowed }) => allowed).length, CAPACITY / 2, "passed")
      const rest = answers.filter(({ allowed }) => allowed).map(({ remaining }) => remaining)
      expectSame(
        rest.sort((a, b) => b - a),
        [8, 6, 4, 2, 0],
        "what each left",
      )
    })
  }

  test(`of ${MANY} checks at once exactly 5 pass a limit of 5`, async (store) => {
    const counter = new Counter(store, { limit: 5, window: "1m" })
    const answers = await Promise.all(times(MANY, () => counter.check(second(1))))
    expectSame(answers.filter(({ allowed }) => allowed).length, 5, "passed")
  })

  test("checks of several charges at once never drain one limit for another", async (store) => {
    const tight = new Counter(store, { algorithm: "token-bucket", limit: 5, window: "1m" })
    const wide = new Counter(store, { algorithm: "sliding-window-log", limit: 1_000, window: "1m" })
    // In both orders: a store that locks or writes one after the other must not depend on it.
    const outcomes = await Promise.all(
      times(MANY, (i) => {
        const charges = [wide.charge(), tight.charge()]
        return store.check(i % 2 === 0 ? charges : charges.reverse(), second(1))
      }),
    )
    expectSame(outcomes.filter(({ allowed }) => allowed).length, 5, "passed")
    expectSame((await wide.peek(second(1))).remaining, 995, "left of the wide one")
  })

  test("lists of checks at once never admit too many", async (store) => {
    const counter = new Counter(store, { algorithm: "gcra", limit: 5, window: "1m" })
    const check = (key: string) => ({ charges: [counter.charge(1, key)], at: second(1) })
    const lists = await Promise.all(
      times(50, () => store.checkMany(times(20, (i) => check(i % 2 === 0 ? "even" : "odd")))),
    )
    const passed = lists.map((outcomes) => outcomes.map(({ allowed }) => allowed))
    expectSame(passed.flatMap((list) => list.filter((_, i) => i % 2 === 0)).filter(Boolean).length, 5, "even")
    expectSame(passed.flatMap((list) => list.filter((_, i) => i % 2 === 1)).filter(Boolean).length, 5, "odd")
  })

  test("many keys at once each get their own limit", async (store) => {
    const counter = new Counter(store, { limit: 3, window: "1m" })
    const answers = await Promise.all(times(MANY, (i) => counter.check(second(1), 1, `key ${i % 200}`)))
    expectSame(answers.filter(({ allowed }) => allowed).length, 600, "passed, 3 for each of 200 keys")
  })

  test("checks and refunds at once lose nothing", async (store) => {
    const counter = new Counter(store, { algorithm: "sliding-window-log", limit: 2_000, window: "1m" })
    await counter.check(second(1), 500)
    await Promise.all(
      times(500, (i) =>
        i % 2 === 0 ? counter.check(second(1), 3) : store.refund([counter.charge(1)], second(1)),
      ),
    )
    expectSame((await counter.peek(second(1))).remaining, 2_000 - 500 - 250 * 3 + 250, "left")
  })
}
