import { describe, expect, it } from "vitest"
import { seededRandom, shuffled, zipf } from "./random.mjs"

describe("seededRandom", () => {
  it("gives the same numbers for the same seed and others for another", () => {
    const take = (/** @type {number} */ seed) => Array.from({ length: 5 }, seededRandom(seed))
    expect(take(1)).toEqual(take(1))
    expect(take(1)).not.toEqual(take(2))
  })

  it("spreads evenly over [0, 1)", () => {
    const random = seededRandom(3)
    const tenths = new Array(10).fill(0)
    for (let i = 0; i < 100_000; i++) tenths[Math.floor(random() * 10)]++
    for (const count of tenths) expect(Math.abs(count - 10_000)).toBeLessThan(500)
  })
})

describe("shuffled", () => {
  it("holds every number once, in another order", () => {
    const order = Array.from(shuffled(1_000, seededRandom(4)))
    expect(order).not.toEqual(order.toSorted((a, b) => a - b))
    expect(order.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 1_000 }, (_, i) => i))
  })
})

describe("zipf", () => {
  it("draws the key of rank r in proportion to 1/r", () => {
    const draws = 200_000
    const counts = new Array(100).fill(0)
    for (const key of zipf(100, draws, seededRandom(5))) counts[key]++
    const byRank = counts.toSorted((a, b) => b - a)
    const harmonic = byRank.reduce((sum, _, i) => sum + 1 / (i + 1), 0)
    for (const rank of [1, 2, 5, 10]) {
      const expected = draws / rank / harmonic
      expect(Math.abs(byRank[rank - 1] - expected)).toBeLessThan(expected * 0.05)
    }
  })

  it("does not make the first keys the most used", () => {
    const counts = new Array(100).fill(0)
    for (const key of zipf(100, 10_000, seededRandom(6))) counts[key]++
    expect(counts.indexOf(Math.max(...counts))).not.toBe(0)
  })
})
