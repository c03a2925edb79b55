import { describe, expect, it, vi } from "vitest"

vi.stubGlobal("navigator", { languages: ["en"] })
const { waitText } = await import("./format.js")
const { language } = await import("./i18n.js")

describe("a wait in words", () => {
  it("is rounded up, so that the wait is long enough", () => {
    expect([0, 0.2, 250, 999.1, 1_000, 1_001, 61_000, 61_001].map(waitText)).toEqual([
      "0 ms",
      "1 ms",
      "250 ms",
      "1000 ms",
      "1 s",
      "2 s",
      "1 min 1 s",
      "1 min 2 s",
    ])
  })

  it("has at most two units, and carries over into the larger one", () => {
    expect([3_600_000, 3_599_500, 90_000_000, 86_399_000, 90_061_000].map(waitText)).toEqual([
      "1 h",
      "1 h",
      "1 d 1 h",
      "1 d",
      "1 d 2 h",
    ])
  })

  it("is in the language of the page", () => {
    language.value = "zh"
    expect(waitText(61_000)).toBe("1 分 1 秒")
    language.value = "en"
  })
})
