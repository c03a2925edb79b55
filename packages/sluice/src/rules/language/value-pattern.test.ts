import { describe, expect, it } from "vitest"
import { matchesValue, parseValuePattern } from "./value-pattern.js"

const matches = (pattern: string, value: string) =>
  matchesValue(parseValuePattern(pattern, "header.x"), value)

describe("a value pattern", () => {
  it.each([
    ["acme", "acme", true],
    ["acme", "Acme", false],
    ["acme", "acme ", false],
    ["", "", true],
    ["", "x", false],
    ["*", "", true],
    ["*", "anything", true],
    ["bot*", "bot/1.0", true],
    ["bot*", "robot", false],
    ["*bot*", "a robot!", true],
    ["*.png", ".png", true],
    ["a*a", "a", false],
    ["a**b", "ab", true],
    ["*a*b*", "xbxa", false],
    ["*ab*ab", "ab", false],
    ["*ab*ab", "abab", true],
  ])("%j against %j is %s", (pattern, value, expected) => {
    expect(matches(pattern, value)).toBe(expected)
  })

  it.each([
    ["a\nb", "must not have control characters"],
    ["\x7f", "must not have control characters"],
    [`${"a".repeat(256)}*`, "must have at most 256 characters if it has a *"],
    ["a".repeat(1_025), "must have at most 1,024 characters"],
    [7 as never, "must be text"],
  ])("is refused when it is %j", (text, expected) => {
    expect(() => parseValuePattern(text, "header.x")).toThrow(
      expect.objectContaining({ code: "PATTERN_INVALID", place: "header.x", expected, found: text }),
    )
  })
})
