import { describe, expect, it } from "vitest"
import { HASH_START, hashBackward, hashForward, hashFromEnd, hashFromStart } from "./text-hash.js"
import { NONE, TextTable } from "./text-table.js"

function tableOf(texts: readonly string[], hashOf = hashFromStart): (text: string) => number {
  const table = new TextTable(new Map(texts.map((text, i) => [text, i])), hashOf)
  return (text) => table.find(hashOf(text), text, 0, text.length)
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

  it("finds nothing when it is empty", () => {
    expect(tableOf([])("")).toBe(NONE)
  })

  it("keeps characters beyond Latin-1 apart", () => {
    const find = tableOf(["é", "ũ", "i", "😀"])
    expect(["é", "ũ", "i", "😀", "😁"].map(find)).toEqual([0, 1, 2, 3, NONE])
  })

  it("knows the length of the longest", () => {
    expect(
      new TextTable(
        new Map([
          ["abc", 0],
          ["a", 1],
        ]),
        hashFromStart,
      ).longest,
    ).toBe(3)
  })

  it("looks up a part of a text, by a hash from its start or from its end", () => {
    const numbers = new Map([["bc", 5]])
    const hash = hashForward(hashForward(HASH_START, "abcd", 1, 2), "abcd", 2, 3)
    expect(new TextTable(numbers, hashFromStart).find(hash, "abcd", 1, 3)).toBe(5)
    const backward = hashBackward(hashBackward(HASH_START, "abcd", 3, 2), "abcd", 2, 1)
    expect(new TextTable(numbers, hashFromEnd).find(backward, "abcd", 1, 3)).toBe(5)
  })
})
