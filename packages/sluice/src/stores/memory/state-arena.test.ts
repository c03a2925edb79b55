import { describe, expect, it } from "vitest"
import type { GrowingState } from "../../algorithms/algorithm.js"
import { compilePolicy } from "../../policy.js"
import { StateArena } from "./state-arena.js"

const policy = compilePolicy({ algorithm: "sliding-window-log", limit: 1_000_000, window: "1h" }, "arena")
const START = Date.UTC(2026, 0, 1) * 1000

function charge(arena: StateArena, reference: number, at: number): void {
  arena.locate(reference)
  policy.algorithm.charge(policy, arena.cells, arena.at, 1, at)
}

function used(arena: StateArena, reference: number, at: number): number {
  arena.locate(reference)
  return policy.algorithm.used(policy, arena.cells, arena.at, at)
}

describe("the arena of states that grow", () => {
  it("gives out blocks that do not overlap", () => {
    const arena = new StateArena(policy.algorithm.growing as GrowingState)
    const blocks = Array.from({ length: 5_000 }, (_, i) => arena.take(1 + (i % 4)))
    expect(new Set(blocks).size).toBe(5_000)
    expect(blocks).not.toContain(0)
    blocks.forEach((block, i) => {
      for (let n = 0; n <= i % 2; n++) charge(arena, block, START + n)
    })
    blocks.forEach((block, i) => {
      expect(used(arena, block, START + 1)).toBe(1 + (i % 2))
    })
  })

  it("hands a block that came back out again, empty", () => {
    const arena = new StateArena(policy.algorithm.growing as GrowingState)
    const kept = arena.take(1)
    const block = arena.take(1)
    charge(arena, block, START)
    const bytes = arena.bytes
    arena.give(block)
    const again = arena.take(1)
    expect(again).toBe(block)
    expect(used(arena, again, START)).toBe(0)
    expect(arena.bytes).toBe(bytes)
    expect(kept).not.toBe(again)
  })

  it("moves a log into twice the room with all its entries", () => {
    const arena = new StateArena(policy.algorithm.growing as GrowingState)
    let block = arena.take(1)
    for (let i = 0; i < 5_000; i++) {
      arena.locate(block)
      if (i === arena.cells[arena.at]) block = arena.grow(block)
      charge(arena, block, START + i)
    }
    expect(used(arena, block, START + 5_000)).toBe(5_000)
    expect(used(arena, block, START + 3_600_000_000 + 1_999)).toBe(3_000)
  })

  it("gives memory back when the last block of a size has gone", () => {
    const arena = new StateArena(policy.algorithm.growing as GrowingState)
    const blocks = Array.from({ length: 10_000 }, () => arena.take(2))
    expect(arena.bytes).toBeGreaterThan(0)
    for (const block of blocks) arena.give(block)
    expect(arena.bytes).toBe(0)
    expect(used(arena, arena.take(2), START)).toBe(0)
  })
})
