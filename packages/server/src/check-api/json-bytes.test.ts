import { describe, expect, it } from "vitest"
import { JsonBytes } from "./json-bytes.js"
import { inQuotes, millis } from "./json-text.js"

function written(write: (json: JsonBytes) => void): string {
  const json = new JsonBytes()
  write(json)
  return Buffer.from(json.written()).toString("utf8")
}

describe("JSON as bytes", () => {
  it.each([
    0, 1, 9, 10, 42, 99, 100, 101, 999, 1_000, 1_001, 10_000, 999_999, 1_000_000, 1_000_007, 2_147_483_647,
    2_147_483_648, 9_007_199_254_740_991, 0.5, -1,
  ])("writes the number %d as the language does", (value) => {
    expect(written((json) => json.integer(value))).toBe(String(value))
  })

  it("writes times as they are written in texts", () => {
    const times = [0, 0.001, 0.01, 0.5, 0.999, 1, 1.001, 999.999, 1_000, 1_000.001, 60_000.05, 86_400_000]
    times.push(1_767_225_600_000, 1_767_225_600_000.123, 2 ** 43 - 1, 2 ** 43, 8.64e15, 3_000_000_000_000.007)
    for (let i = 0; i < 10_000; i++) times.push(Math.round(i ** 3 * 7.77) / 1_000)
    for (const ms of times) expect(written((json) => json.millis(ms))).toBe(millis(ms))
  })

  it.each([
    "",
    "user:42",
    'a "quoted" \\ one',
    "line\nbreak",
    "\u007f",
    "é",
    "日本",
    "😀",
    "\ud800 alone",
    "a".repeat(100_000),
    "é".repeat(100_000),
  ])("writes what stands between quotes as JSON.stringify does", (text) => {
    expect(written((json) => json.inQuotes(text))).toBe(inQuotes(text))
    expect(written((json) => json.inQuotes(text))).toBe(JSON.stringify(text).slice(1, -1))
  })

  it("keeps all that was written before it had to grow", () => {
    const piece = Buffer.from(',"a piece of more than a few bytes"')
    const text = written((json) => {
      for (let i = 0; i < 5_000; i++) {
        json.raw(piece)
        json.integer(i)
        json.text("é")
      }
    })
    expect(text).toBe(Array.from({ length: 5_000 }, (_, i) => `${piece}${i}é`).join(""))
  })

  it("begins anew when it is cleared", () => {
    const json = new JsonBytes()
    json.text("before")
    json.clear()
    json.text("after")
    expect(Buffer.from(json.written()).toString()).toBe("after")
  })
})
