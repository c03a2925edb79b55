import { expect, it } from "vitest"
import { KeyHash } from "../memory/key-hash.js"
import { Seeds } from "./last-usage.js"

it("gives back what was put last, once", () => {
  const seeds = new Seeds(100)
  seeds.put(7, 9, 3, 1_000)
  seeds.put(7, 9, 4, 2_000)
  expect(seeds.take(7, 8)).toBe(false)
  expect(seeds.take(7, 9)).toBe(true)
  expect([seeds.units, seeds.time]).toEqual([4, 2_000])
  expect(seeds.take(7, 9)).toBe(false)
})

it("lets the oldest of a full set go", () => {
  const seeds = new Seeds(4)
  for (let i = 1; i <= 4; i++) seeds.put(i, 0, i, 100 + i)
  seeds.put(1, 0, 10, 200)
  seeds.put(5, 0, 5, 300)
  expect([1, 2, 3, 4, 5].filter((low) => seeds.take(low, 0))).toEqual([1, 3, 4, 5])
})

it("takes a free place before it drops anything", () => {
  const seeds = new Seeds(4)
  for (let i = 1; i <= 4; i++) seeds.put(i, 0, i, 100 + i)
  seeds.take(3, 0)
  seeds.put(5, 0, 5, 300)
  expect([1, 2, 4, 5].filter((low) => seeds.take(low, 0))).toEqual([1, 2, 4, 5])
})

it("remembers most of as many keys as it was made for, and never more than its size", () => {
  const seeds = new Seeds(10_000)
  const hash = new KeyHash()
  const hashes = Array.from({ length: 50_000 }, (_, i) => {
    hash.hash(`user:${i}`)
    return { low: hash.low, high: hash.high }
  })
  hashes.slice(0, 10_000).forEach(({ low, high }, i) => {
    seeds.put(low, high, 1, i + 1)
  })
  expect(hashes.filter(({ low, high }) => seeds.take(low, high)).length).toBeGreaterThan(9_000)
  hashes.forEach(({ low, high }, i) => {
    seeds.put(low, high, 1, i + 1)
  })
  expect(hashes.filter(({ low, high }) => seeds.take(low, high)).length).toBeLessThanOrEqual(16_384)
})
