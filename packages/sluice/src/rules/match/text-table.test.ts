import { describe, expect, it } from "vitest"
import { HASH_START, hashBackward, hashForward, hashFromEnd, hashFromStart } from "./text-hash.js"
import { NONE, TextTable } from "./text-table.js"

function tableOf(texts: readonly string[], hashOf = hashFromStart): (text: string) => number {
  const table = new TextTable(
    texts.map((text, number) => ({ node: 3, text, number })),
    hashOf,
  )
  return (text) => table.find(3, hashOf(text), text, 0, text.length)
}

describe("a table of texts", () => {
  it("finds every one of ten thousand, and none that is not there", () => {
    const texts = Array.from({ length: 10_000 }, (_, i) => `t${i}`)
    const find = tableOf(texts)
    expect(texts.map(find)).toEqual(texts.map((_, i) => i))
    expect(texts.map((text) => find(`${text}x`))).toEqual(texts.map(() => NONE))
  })

  it("tells texts apart that share a hash", () => {
    const texts = ["", "a", "b", "ab", "ba", "a\0", "abc"]
    const find = tableOf(texts, () => 7)
    expect(texts.map(find)).toEqual([0, 1, 2, 3, 4, 5, 6])
    expect(["c", "bb", "abd", "abcd", "\0"].map(find)).toEqual([NONE, NONE, NONE, NONE, NONE])
  })

  it("keeps apart what nodes have under the same text", () => {
    const entries = Array.from({ length: 1_000 }, (_, node) => ({ node, text: "GET", number: 2 * node }))
    const table = new TextTable(entries, hashFromStart)
    const find = (node: number) => table.find(node, hashFromStart("GET"), "GET", 0, 3)
    expect(entries.map(({ node }) => find(node))).toEqual(entries.map(({ number }) => number))
    expect(find(1_000)).toBe(NONE)
  })

  it("finds nothing when it is empty", () => {
    expect(tableOf([])("")).toBe(NONE)
  })

  it("keeps characters beyond Latin-1 apart", () => {
    const find = tableOf(["é", "ũ", "i", "😀"])
    expect(["é", "ũ", "i", "😀", "😁"].map(find)).toEqual([0, 1, 2, 3, NONE])
  })

  it("finds whole texts by a hash of its own", () => {
    const texts = ["", "a", "abc", "abcd", "abcde", "a".repeat(48), "a".repeat(49), "\u0161bcd", "abc\u0164"]
    const table = new TextTable(texts.map((text, number) => ({ node: 3, text, number })))
    expect(texts.map((text) => table.findWhole(3, text))).toEqual(texts.map((_, number) => number))
    for (const text of texts) {
      const others = [...text].map((_, i) => `${text.slice(0, i)}b${text.slice(i + 1)}`)
      const unknown = [...others, `${text}x`].filter((other) => !texts.includes(other))
      expect(unknown.filter((other) => table.findWhole(3, other) !== NONE)).toEqual([])
    }
    expect(table.findWhole(4, "abc")).toBe(NONE)
  })

  it("compares every character, whether a text fits into its slot or not", () => {
    const texts = Array.from({ length: 70 }, (_, length) => "a".repeat(length))
    const find = tableOf(texts, () => 7)
    expect(texts.map(find)).toEqual(texts.map((_, i) => i))
    for (const text of texts) {
      const others = [...text].map((_, i) => `${text.slice(0, i)}b${text.slice(i + 1)}`)
      expect(others.map(find)).toEqual(others.map(() => NONE))
    }
  })

  it("tells texts apart of which the low bytes of all characters are the same", () => {
    const texts = [
      "abcdef",
      "\u0161bcdef",
      "abc\u0164ef",
      "abcde\u0166",
      "\0\0\0\0",
      "\u0100\0\0\0",
      "\0\0\0",
      "\0\0\u0100",
    ]
    for (const known of texts) {
      const find = tableOf([known], () => 7)
      expect(texts.filter((text) => find(text) === 0)).toEqual([known])
    }
    const find = tableOf(texts, () => 7)
    expect(texts.map(find)).toEqual(texts.map((_, i) => i))
  })

  it("knows the length of the longest", () => {
    const entries = ["abc", "a"].map((text, number) => ({ node: 0, text, number }))
    expect(new TextTable(entries, hashFromStart).longest).toBe(3)
  })

  it("looks up a part of a text, by a hash from its start or from its end", () => {
    const entries = [{ node: 1, text: "bc", number: 5 }]
    const forward = hashForward(hashForward(HASH_START, "abcd", 1, 2), "abcd", 2, 3)
    expect(new TextTable(entries, hashFromStart).find(1, forward, "abcd", 1, 3)).toBe(5)
    const backward = hashBackward(hashBackward(HASH_START, "abcd", 3, 2), "abcd", 2, 1)
    expect(new TextTable(entries, hashFromEnd).find(1, backward, "abcd", 1, 3)).toBe(5)
  })
})
