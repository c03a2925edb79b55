import { createHash } from "node:crypto"
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { canonicalJson, etagOf } from "./revision.js"

describe("etagOf", () => {
  it("is the SHA-256 of the canonical JSON, for texts of every length around a block and any characters", () => {
    const values = [..."x".repeat(200)].map((_, length) => "ä".repeat(length))
    for (const value of [...values, "😀", "\ud800", "x".repeat(100_000)]) {
      expect(etagOf(value)).toBe(createHash("sha256").update(canonicalJson(value)).digest("hex"))
    }
  })

  it("does not depend on the order of fields, but on the order of lists", () => {
    expect(etagOf({ a: 1, b: { c: 2, d: 3 } })).toBe(etagOf({ b: { d: 3, c: 2 }, a: 1 }))
    expect(etagOf([1, 2])).not.toBe(etagOf([2, 1]))
  })

  it("ignores a field that is undefined", () => {
    expect(etagOf({ a: 1, b: undefined })).toBe(etagOf({ a: 1 }))
    expect(etagOf({ a: 1, b: null })).not.toBe(etagOf({ a: 1 }))
  })
})

describe("canonicalJson", () => {
  it("reads back as the value it was made of", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const plain = JSON.parse(JSON.stringify(value))
        expect(JSON.parse(canonicalJson(plain))).toEqual(plain)
      }),
    )
  })
})
