import { describe, expect, it } from "vitest"
import { Segment } from "./segment.js"

/** Pseudo-random words that are the same in every run. */
function wordsFrom(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) | 0
    return state ^ (state >>> 15)
  }
}

describe("a segment", () => {
  it.each([16, 17, 100, 1_000, 70_000])(
    "of %i slots is swept slot by slot, each once in a round",
    (capacity) => {
      const segment = new Segment(capacity, 3)
      expect(segment.capacity).toBeGreaterThanOrEqual(capacity)
      const seen = new Set<number>()
      for (let step = 0; step < segment.capacity; step++) seen.add(segment.slotOfStep(step))
      expect(seen.size).toBe(segment.capacity)
      expect(Math.max(...seen)).toBe(segment.capacity - 1)
    },
  )

  it("is swept evenly: any stretch of a round reaches all parts of it", () => {
    const segment = new Segment(64_000, 3)
    for (const start of [0, 12_345, 50_000]) {
      const parts = new Uint32Array(16)
      for (let step = start; step < start + 8_000; step++) {
        const part = Math.floor((segment.slotOfStep(step % segment.capacity) * 16) / segment.capacity)
        parts[part] = (parts[part] as number) + 1
      }
      for (const looked of parts) {
        expect(looked).toBeGreaterThan(250)
        expect(looked).toBeLessThan(1_000)
      }
    }
  })

  it.each([
    { capacity: 16, keys: 13 },
    { capacity: 1_024, keys: 900 },
    { capacity: 20_000, keys: 17_000 },
  ])("of $capacity slots keeps $keys hashes apart while they come and go", ({ capacity, keys }) => {
    const word = wordsFrom(capacity)
    const segment = new Segment(capacity, 2)
    const held = new Map<string, [low: number, high: number, value: number]>()
    const steps = Math.max(2_000, keys * 3)
    for (let step = 0; step < steps; step++) {
      const [low, high] = [word() | 1, word()]
      if (held.size < keys && !held.has(`${low} ${high}`)) {
        const slot = segment.take(low, high)
        const [cells, at] = [segment.cells, segment.at(slot)]
        // Whoever had the slot before left nothing.
        expect([cells[at], cells[at + 1]]).toEqual([0, 0])
        cells[at] = step + 1
        cells[at + 1] = -step - 1
        held.set(`${low} ${high}`, [low, high, step + 1])
        continue
      }
      const [first] = held
      const [name, [oldLow, oldHigh]] = first as [string, [number, number, number]]
      segment.erase(segment.find(oldLow, oldHigh, 0), 0)
      expect(segment.find(oldLow, oldHigh, 0)).toBe(-1)
      held.delete(name)
    }
    for (const [low, high, value] of held.values()) {
      const slot = segment.find(low, high, 0)
      expect([segment.low(slot), segment.high(slot)]).toEqual([low, high])
      expect(segment.cells[segment.at(slot)]).toBe(value)
      expect(segment.cells[segment.at(slot) + 1]).toBe(-value)
    }
    let taken = 0
    for (let slot = 0; slot < segment.capacity; slot++) if (!segment.isEmpty(slot)) taken++
    expect(taken).toBe(held.size)
  })

  it("keeps hashes whose words make a NaN when read as a double", () => {
    const segment = new Segment(64, 1)
    const words = [0x7ff00001, 0x7ff80000, -0x7ffff, 0x7fffffff, -1]
    for (const high of words) for (const low of [1, -1]) segment.take(low, high)
    segment.erase(segment.find(1, 0x7ff00001, 0), 0)
    for (const high of words.slice(1))
      for (const low of [1, -1]) expect(segment.find(low, high, 0)).not.toBe(-1)
  })
})
