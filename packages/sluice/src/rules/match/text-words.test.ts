import { describe, expect, it } from "vitest"
import { hashFromStart } from "./text-hash.js"
import { TextWords } from "./text-words.js"

describe("the words of a text", () => {
  it("have four characters each, the first lowest, and nothing behind the last", () => {
    const { words } = packed("xabcdefy", 1, 7)
    expect([...words.slice(0, 2)]).toEqual([0x64636261, 0x6665])
  })

  it("are the same for the same part of any text, and so is its hash", () => {
    const scan = new TextWords()
    expect(scan.pack("xabcdef", 1, 7)).toBe(scan.pack("abcdef", 0, 6))
    expect(scan.pack("abcdef", 0, 6)).not.toBe(scan.pack("abcdeg", 0, 6))
  })

  it.each(["", "a", "\xff", "a".repeat(48)])("are there for %j", (text) => {
    expect(packed(text).isPacked).toBe(true)
  })

  it.each(["a".repeat(49), "\u0161", "abc\u0164", "abcd\u0161"])(
    "are not there for %j, which is hashed character by character",
    (text) => {
      const scan = packed(text)
      expect([scan.isPacked, scan.pack(text, 0, text.length)]).toEqual([false, hashFromStart(text)])
    },
  )
})

function packed(text: string, from = 0, to = text.length): TextWords {
  const scan = new TextWords()
  scan.pack(text, from, to)
  return scan
}
