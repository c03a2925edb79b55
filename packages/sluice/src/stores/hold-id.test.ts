import { describe, expect, it } from "vitest"
import { holdIdText, newHoldId, parseHoldId } from "./hold-id.js"

describe("the id of a hold", () => {
  it("is never given out twice, and uses all of its 96 bits", () => {
    const texts = new Set<string>()
    let high = 0
    let low = 0
    for (let i = 0; i < 10_000; i++) {
      const id = newHoldId()
      texts.add(holdIdText(id))
      high = Math.max(high, id.high)
      low = Math.max(low, id.low)
    }
    expect(texts.size).toBe(10_000)
    expect(high).toBeGreaterThan(2 ** 47)
    expect(low).toBeGreaterThan(2 ** 47)
  })

  it("is read back from its text", () => {
    for (const id of [newHoldId(), { high: 0, low: 1 }, { high: 2 ** 48 - 1, low: 2 ** 48 - 1 }]) {
      expect(holdIdText(id)).toHaveLength(20)
      expect(parseHoldId(holdIdText(id))).toEqual(id)
    }
  })

  it("is not read from other texts", () => {
    for (const text of [
      "",
      "zzzzzzzzzzzzzzzzzzzz",
      "0".repeat(19),
      "0".repeat(21),
      `${"0".repeat(19)}"`,
      "ABCDEFGHIJ0000000000",
    ])
      expect(parseHoldId(text)).toBeUndefined()
  })
})
