import { describe, expect, it } from "vitest"
import { readQuery } from "./query.js"

const read = (query: string) => Object.fromEntries(readQuery(query, new Set(["a", "b c"])))

describe("readQuery", () => {
  it.each([
    ["", {}],
    ["a", { a: [""] }],
    ["a=", { a: [""] }],
    ["a=1", { a: ["1"] }],
    ["A=1", { a: ["1"] }],
    ["a=1&x=2&a=3", { a: ["1", "3"] }],
    ["a=1=2", { a: ["1=2"] }],
    ["a=1+2%2B3", { a: ["1 2+3"] }],
    ["%61=%C3%A9", { a: ["é"] }],
    ["b+c=1&b%20c=2", { "b c": ["1", "2"] }],
    ["a=%zz", { a: ["%zz"] }],
    ["a=%C3", { a: ["%C3"] }],
    ["&&a=1&", { a: ["1"] }],
    ["=1&aa=1", {}],
    ["x=1;a=2", { a: ["2"] }],
    ["a=1;x=2", { a: ["1;x=2", "1"] }],
    ["a[]=1&a[0]=2&aa[]=3", { a: ["1", "2"] }],
    ["[a]=1", {}],
  ])("reads %j", (query, expected) => {
    expect(read(query)).toEqual(expected)
  })
})
