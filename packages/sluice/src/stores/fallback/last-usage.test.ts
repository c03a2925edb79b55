import { expect, it } from "vitest"
import { KeyHash } from "../memory/key-hash.js"
import { LastUsage } from "./last-usage.js"

it("returns what was put last, once", () => {
  const usage = new LastUsage(100)
  usage.put(7, 9, 3, 1_000)
  usage.put(7, 9, 4, 2_000)
  expect(usage.take(7, 8)).toBe(false)
  expect(usage.take(7, 9)).toBe(true)
  expect([usage.units, usage.time]).toEqual([4, 2_000])
  expect(usage.take(7, 9)).toBe(false)
})

it("replaces the oldest key of a full set", () => {
  const usage = new LastUsage(4)
  for (let i = 1; i <= 4; i++) usage.put(i, 0, i, 100 + i)
  usage.put(1, 0, 10, 200)
  usage.put(5, 0, 5, 300)
  expect([1, 2, 3, 4, 5].filter((low) => usage.take(low, 0))).toEqual([1, 3, 4, 5])
})

it("takes a free place before it drops anything", () => {
  const usage = new LastUsage(4)
  for (let i = 1; i <= 4; i++) usage.put(i, 0, i, 100 + i)
  usage.take(3, 0)
  usage.put(5, 0, 5, 300)
  expect([1, 2, 4, 5].filter((low) => usage.take(low, 0))).toEqual([1, 2, 4, 5])
})

it("remembers most of as many keys as it was made for, and never more than its size", () => {
  const usage = new LastUsage(10_000)
  const hash = new KeyHash()
  const hashes = Array.from({ length: 50_000 }, (_, i) => {
    hash.hash(`user:${i}`)
    return { low: hash.low, high: hash.high }
  })
  hashes.slice(0, 10_000).forEach(({ low, high }, i) => {
    usage.put(low, high, 1, i + 1)
  })
  expect(hashes.filter(({ low, high }) => usage.take(low, high)).length).toBeGreaterThan(9_000)
  hashes.forEach(({ low, high }, i) => {
    usage.put(low, high, 1, i + 1)
  })
  expect(hashes.filter(({ low, high }) => usage.take(low, high)).length).toBeLessThanOrEqual(16_384)
})
