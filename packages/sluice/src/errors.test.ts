import { readdirSync, readFileSync } from "node:fs"
import { describe, expect, it } from "vitest"
import { errorCodes, SluiceError } from "./errors.js"

const codes = Object.keys(errorCodes)

describe("docs/errors.md", () => {
  const page = readFileSync(new URL("../../../docs/errors.md", import.meta.url), "utf8")
  const headings = [...page.matchAll(/^### (.+)$/gm)].map((match) => match[1])

  it.each(codes)("explains %s", (code) => {
    expect(headings).toContain(code)
  })

  it("explains no code that does not exist, and none twice", () => {
    expect(headings.filter((heading) => !codes.includes(heading ?? ""))).toEqual([])
    expect(headings.length).toBe(new Set(headings).size)
  })
})

describe("errorCodes", () => {
  // The service and the command line throw codes of their own from the same list.
  const folders = [".", "../../server/src/", "../../cli/src/"].map((path) => new URL(path, import.meta.url))
  const sources = folders
    .flatMap((folder) =>
      readdirSync(folder, { recursive: true, encoding: "utf8" })
        .filter(
          (file) => file.endsWith(".ts") && !/\.test(-support)?\.ts$/.test(file) && file !== "errors.ts",
        )
        .map((file) => readFileSync(new URL(file, folder), "utf8")),
    )
    .join("\n")

  it.each(codes)("lists %s because something throws it", (code) => {
    expect(sources).toContain(`"${code}"`)
  })

  it("says what each means in a sentence", () => {
    for (const meaning of Object.values(errorCodes)) expect(meaning).toMatch(/^[A-Z].*\.$/)
  })
})

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
