import { describe, expect, it } from "vitest"
import { SluiceError } from "./errors.js"

describe("SluiceError", () => {
  it("says the place, what was expected, what was found and the code", () => {
    const cause = new Error("before")
    const error = new SluiceError("LIMIT_INVALID", {
      place: "limits[1].limit",
      expected: "must be an integer ≥ 1",
      found: 0,
      cause,
    })
    expect(error.message).toBe("limits[1].limit: must be an integer ≥ 1, got 0 [LIMIT_INVALID]")
    expect(error).toMatchObject({
      name: "SluiceError",
      code: "LIMIT_INVALID",
      place: "limits[1].limit",
      expected: "must be an integer ≥ 1",
      found: 0,
    })
    expect(error.cause).toBe(cause)
    expect(error).toBeInstanceOf(Error)
  })

  it("leaves out what was found when nothing was, and says undefined when that was found", () => {
    expect(messageOf({ place: "key", expected: "is required" })).toBe("key: is required [KEY_INVALID]")
    expect(messageOf({ place: "key", expected: "is required", found: undefined })).toBe(
      "key: is required, got undefined [KEY_INVALID]",
    )
  })

  it.each([
    ["text", '"text"'],
    ["x".repeat(61), `"${"x".repeat(57)}…"`],
    ['a "b"', '"a \\"b\\""'],
    ["line\nbreak", '"line\\nbreak"'],
    [12, "12"],
    [Number.NaN, "NaN"],
    [10n, "10n"],
    [true, "true"],
    [null, "null"],
    [Symbol("s"), "Symbol(s)"],
    [[1, 2], "an array"],
    [{ a: 1 }, "an object"],
    [() => 1, "a function"],
  ])("shows %s short enough for a log line", (found, shown) => {
    expect(messageOf({ place: "key", expected: "must be a key", found })).toBe(
      `key: must be a key, got ${shown} [KEY_INVALID]`,
    )
  })
})

function messageOf(details: { place: string; expected: string; found?: unknown }): string {
  return new SluiceError("KEY_INVALID", details).message
}
