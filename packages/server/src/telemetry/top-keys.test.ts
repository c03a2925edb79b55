import { expect, it } from "vitest"
import { TopKeys } from "./top-keys.js"

it("counts exactly while all keys have room", () => {
  const top = new TopKeys(10)
  for (let key = 1; key <= 9; key++) for (let i = 0; i < key; i++) top.add("r", `k${key}`)
  expect(top.top(2)).toEqual([
    { rule: "r", key: "k9", count: 9, error: 0 },
    { rule: "r", key: "k8", count: 8, error: 0 },
  ])
})

it("keeps the same key of two rules apart", () => {
  const top = new TopKeys(10)
  top.add("a", "k")
  top.add("b", "k", 2)
  expect(top.top(9)).toMatchObject([
    { rule: "b", count: 2 },
    { rule: "a", count: 1 },
  ])
})

it("never holds more than twice its capacity, and never undercounts a key that it holds", () => {
  const top = new TopKeys(50)
  const truth = new Map<string, number>()
  let seed = 7
  for (let i = 0; i < 200_000; i++) {
    seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648
    // Half of the traffic comes from 20 keys, the other half from as many as there are requests.
    const key = seed % 2 === 0 ? `busy${(seed >> 8) % 20}` : `once${i}`
    truth.set(key, (truth.get(key) ?? 0) + 1)
    top.add("r", key)
    if (top.size > 100) throw new Error(`${top.size} keys`)
  }
  const found = top.top(20)
  expect(found.map(({ key }) => key.slice(0, 4))).toEqual(Array.from({ length: 20 }, () => "busy"))
  for (const { key, count, error } of found) {
    expect(count).toBeGreaterThanOrEqual(truth.get(key) as number)
    expect(count - error).toBeLessThanOrEqual(truth.get(key) as number)
  }
})

it("gives a key that returns the count that it may have had before it was dropped", () => {
  const top = new TopKeys(2)
  for (const key of ["a", "a", "a", "b", "b", "b", "x", "y"]) top.add("r", key)
  expect(top.size).toBe(2)
  top.add("r", "x")
  expect(top.top(3)).toContainEqual({ rule: "r", key: "x", count: 2, error: 1 })
})

it("drops keys that were busy long ago", () => {
  const top = new TopKeys(10)
  top.add("r", "old", 1_000)
  for (let i = 0; i < 11; i++) top.decay()
  top.add("r", "new", 2)
  expect(top.top(9)).toEqual([{ rule: "r", key: "new", count: 2, error: 0 }])
})

it("shortens very long keys, and counts them", () => {
  const top = new TopKeys(10)
  for (let i = 0; i < 3; i++) top.add("r", "x".repeat(100_000))
  expect(top.top(1)[0]).toMatchObject({ count: 3 })
  expect(top.top(1)[0]?.key.length).toBeLessThan(250)
})
