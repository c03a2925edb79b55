import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { tokensOf } from "./tokens.js"

/** `key:login colon text:a`: what was found, without the places. */
function shown(text: string): string[] {
  return tokensOf(text).map(({ kind, start, end }) => `${kind} ${text.slice(start, end)}`)
}

describe("the tokens of YAML", () => {
  it("are names, values and comments", () => {
    expect(shown("limit: 5 # each\nwindow: 15m")).toEqual([
      "key limit",
      "colon :",
      "literal 5",
      "comment # each",
      "key window",
      "colon :",
      "text 15m",
    ])
  })

  it("take a colon inside of a value for a part of it, and one with a space behind for the end of a name", () => {
    expect(shown("keyBy: header:x-tenant")).toEqual(["key keyBy", "colon :", "text header:x-tenant"])
    expect(shown("path: /users/:id")).toEqual(["key path", "colon :", "text /users/:id"])
  })

  it("know lists, in lines and in brackets", () => {
    expect(shown("- - a\n- { b: [c, 1] }")).toEqual([
      "dash -",
      "dash -",
      "text a",
      "dash -",
      "open {",
      "key b",
      "colon :",
      "open [",
      "text c",
      "comma ,",
      "literal 1",
      "close ]",
      "close }",
    ])
  })

  it("take brackets outside of brackets for text once a value has begun", () => {
    expect(shown("body: a {b}, c")).toEqual(["key body", "colon :", "text a {b}, c"])
  })

  it("know quotes, and end one that is not closed with its line", () => {
    expect(shown(`a: "x # \\" y" # z\nb: 'it''s'\nc: "open\nd: 1`)).toEqual([
      "key a",
      "colon :",
      'text "x # \\" y"',
      "comment # z",
      "key b",
      "colon :",
      "text 'it''s'",
      "key c",
      "colon :",
      'text "open',
      "key d",
      "colon :",
      "literal 1",
    ])
    expect(shown(`"a b": 1`)).toEqual(['key "a b"', "colon :", "literal 1"])
  })

  it("take what is indented below a | for text, to the first line that is not", () => {
    expect(shown("a: |\n  b: 1\n\n  # c\nd: 2")).toEqual([
      "key a",
      "colon :",
      "mark |",
      "block b: 1",
      "block # c",
      "key d",
      "colon :",
      "literal 2",
    ])
    expect(shown("- a: >-\n    b\n  c: 1")).toContain("key c")
  })

  it("take a # for a comment only where a space stands before it", () => {
    expect(shown("a: b#c #d")).toEqual(["key a", "colon :", "text b#c", "comment #d"])
  })

  it("never overlap, never run backwards, and leave nothing but white space between them, whatever the text", () => {
    const piece = fc.constantFrom(
      "a",
      ":",
      " ",
      "\n",
      "- ",
      "{",
      "}",
      "[",
      "]",
      ",",
      "#",
      '"',
      "'",
      "|",
      "1",
      "\t",
      "*",
      "&",
      "é",
      "\r",
    )
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 60 }), (pieces) => {
        const text = pieces.join("")
        let at = 0
        for (const { start, end } of tokensOf(text)) {
          expect(text.slice(at, start).trim()).toBe("")
          expect(end).toBeGreaterThan(start)
          at = end
        }
        expect(text.slice(at).trim()).toBe("")
      }),
    )
  })
})
