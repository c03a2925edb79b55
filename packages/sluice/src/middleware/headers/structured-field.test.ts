import { describe, expect, it } from "vitest"
import { base64, sfInteger, sfString, wholeSeconds } from "./structured-field.js"

describe("sfInteger", () => {
  it.each([
    [0, "0"],
    [-0, "0"],
    [-1, "0"],
    [Number.NaN, "0"],
    [-Infinity, "0"],
    [0.9, "0"],
    [1, "1"],
    [12.9, "12"],
    [1e14, "100000000000000"],
    [999_999_999_999_999, "999999999999999"],
    [1e15, "999999999999999"],
    [1e300, "999999999999999"],
    [Infinity, "999999999999999"],
  ])("writes %d as %s", (value, text) => {
    expect(sfInteger(value)).toBe(text)
  })
})

describe("sfString", () => {
  it.each([
    ["", '""'],
    ["a b~", '"a b~"'],
    ['"', '"\\""'],
    ["\\", '"\\\\"'],
    ["\x7f\0\x1fé🚦", '"_____"'],
  ])("writes %j as %s", (text, written) => {
    expect(sfString(text)).toBe(written)
  })
})

describe("wholeSeconds", () => {
  it.each([
    [0, 0],
    [0.001, 1],
    [999.999, 1],
    [1000, 1],
    [1000.001, 2],
    [1_767_225_600_000, 1_767_225_600],
    [1_767_225_600_000.001, 1_767_225_601],
  ])("rounds %d ms up to %d s", (ms, seconds) => {
    expect(wholeSeconds(ms)).toBe(seconds)
  })
})

describe("base64", () => {
  it.each(["", "a", "user:42", "größe 🚦"])("encodes the bytes of %j", (text) => {
    expect(base64(text)).toBe(Buffer.from(text).toString("base64"))
  })
})
