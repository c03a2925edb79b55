import { memoryStore, type Store } from "sluice"
import { describe, expect, it } from "vitest"
import { Namespace } from "../../packages/sluice/src/stores/store.js"
import { variants } from "../../packages/sluice/src/testing/contract/policies.js"
import { keyslot } from "../support/redis/keyslot.js"
import type { RedisServer } from "../support/redis/single.js"
import { Counter, callsOf, forgetCalls, nameOf, times } from "./one-server.js"

const AT = Date.UTC(2026, 0, 1) * 1000
const DAY = 86_400_000_000

/** Tests of checks whose charges are in several slots of a Cluster, where one script cannot decide them together. */
export function describeCrossSlot(open: () => Store, nodes: () => readonly RedisServer[]): void {
  async function calls(): Promise<number> {
    const each = await Promise.all(nodes().map((node) => callsOf(node, "evalsha")))
    return each.reduce((sum, count) => sum + count, 0)
  }
  async function forget(): Promise<void> {
    await Promise.all(nodes().map((node) => forgetCalls(node)))
  }

  it("the keys of these tests live in several slots", () => {
    const counter = new Counter(open(), { limit: 1, window: "1m" })
    const slots = ["a", "b", "c"].map((key) => keyslot(nameOf(counter, key)))
    expect(new Set(slots).size).toBe(3)
    expect(slots).toEqual(["a", "b", "c"].map(keyslot))
  })

  describe.each(variants)("$title in several slots", ({ limit }) => {
    it("is charged all or nothing", async () => {
      const store = open()
      const counter = new Counter(store, limit)
      await counter.check(AT, 9, "b")
      const charges = (cost: number) => ["a", "b", "c"].map((key) => counter.charge(cost, key))
      const denied = await store.check(charges(2), AT)
      expect(denied.allowed).toBe(false)
      expect(denied.verdicts.map(({ allowed }) => allowed)).toEqual([true, false, true])
      expect(denied.verdicts.map(({ remaining }) => remaining)).toEqual([10, 1, 10])
      const allowed = await store.check(charges(1), AT)
      expect(allowed.allowed).toBe(true)
      expect(allowed.verdicts.map(({ remaining }) => remaining)).toEqual([9, 0, 9])
    })

    it("is decided as in memory", async () => {
      const stores = [open(), memoryStore({ clock: { now: () => 0 } })]
      const [found, expected] = await Promise.all(
        stores.map(async (store) => {
          const counter = new Counter(store, limit)
          const answers: unknown[] = []
          for (let i = 0; i < 30; i++) {
            const at = AT + i * 7_654_321
            const charges = ["a", "b", "c"].map((key, j) => counter.charge((i * (j + 2)) % 5, key))
            const { allowed, now, verdicts } = await store.check(charges, at)
            const told = verdicts.map(({ stale: _, ...verdict }) => verdict)
            answers.push({ allowed, now, told })
            if (i % 4 === 3) await store.refund(charges, at)
            if (i % 7 === 6) await store.charge(charges, at)
          }
          return answers
        }),
      )
      expect(found).toEqual(expected)
    })

    it("does not stay denied because a clock was far ahead", async () => {
      const store = open()
      const counter = new Counter(store, limit)
      await counter.check(AT + DAY, 10, "a")
      const charges = [counter.charge(3, "a"), counter.charge(1, "b")]
      const { allowed, verdicts } = await store.check(charges, AT)
      expect(allowed).toBe(false)
      const { retryAfter = 0 } = verdicts[0] ?? {}
      expect(retryAfter).toBeLessThanOrEqual(120e6)
      expect((await store.check(charges, AT + retryAfter - 1)).allowed).toBe(false)
      expect((await store.check(charges, AT + retryAfter)).allowed).toBe(true)
    })
  })

  it("many checks at once admit nothing beyond a limit, and a denied check is refunded", async () => {
    const store = open()
    const tight = new Counter(store, { algorithm: "sliding-window-log", limit: 50, window: "1h" })
    const wide = new Counter(store, { algorithm: "token-bucket", limit: 1_000, window: "1h" })
    const check = async () => {
      return (await store.check([tight.charge(1, "a"), wide.charge(1, "b")], AT)).allowed
    }
    const waves = await Promise.all(
      times(20, async () => {
        let passed = 0
        for (let i = 0; i < 10; i++) if (await check()) passed++
        return passed
      }),
    )
    let passed = waves.reduce((sum, wave) => sum + wave, 0)
    expect(passed).toBeLessThanOrEqual(50)
    expect((await tight.peek(AT, "a")).remaining).toBe(50 - passed)
    expect((await wide.peek(AT, "b")).remaining).toBe(1_000 - passed)
    while (await check()) passed++
    expect(passed).toBe(50)
  })

  it("checkMany runs its checks in order, also those over several slots", async () => {
    const store = open()
    const counter = new Counter(store, { algorithm: "fixed-window", limit: 10, window: "1h" })
    const check = (...charges: [string, number][]) => ({
      charges: charges.map(([key, cost]) => counter.charge(cost, key)),
      at: AT,
    })
    const outcomes = await store.checkMany([
      check(["a", 6], ["b", 6]),
      check(["a", 5]),
      check(["b", 4], ["c", 1]),
      check(["b", 1]),
      check(["c", 9]),
    ])
    expect(outcomes.map(({ allowed }) => allowed)).toEqual([true, false, true, false, true])
  })

  it("checks of one tick share one call per slot", async () => {
    const counter = new Counter(open(), { limit: 100, window: "1h" })
    const keys = ["a", "b", "c", "d"]
    for (const key of keys) await counter.peek(AT, key)
    await forget()
    await Promise.all(times(40, (i) => counter.check(AT, 1, keys[i % 4])))
    expect(await calls()).toBe(4)
  })

  it("limits of one key share its slot, whatever they are called", async () => {
    const store = open()
    const names = ["plain", "{a}", "}{", "{", "x{}y", "%", "{other}"]
    const limits = names.map((name) => {
      return new Counter(store, { limit: 2, window: "1h" }, new Namespace(`${crypto.randomUUID()}${name}`))
    })
    for (const key of ["user", "", "{}", "{a}", "}"]) {
      await limits[0]?.peek(AT, key)
      await forget()
      const charges = limits.map((counter) => counter.charge(1, key))
      expect((await store.check(charges, AT)).allowed).toBe(true)
      expect(await calls()).toBe(1)
    }
  })
}
