import { describe, expect, it } from "vitest"
import { hashFromStart } from "./text-hash.js"
import { TextLeads } from "./text-leads.js"
import { NONE } from "./text-table.js"

describe("leads by a text", () => {
  it.each([0, 1, 3, 64, 65, 5_000])("are those of a node, when two nodes have %d texts each", (count) => {
    const leads = new TextLeads(hashFromStart)
    const texts = Array.from({ length: count }, (_, i) => `t${i}`)
    const one = leads.add(new Map(texts.map((text, i) => [text, 2 * i])))
    const other = leads.add(new Map(texts.map((text, i) => [`${text}x`, i])))
    leads.seal()
    expect(texts.map((text) => leads.find(one, text))).toEqual(texts.map((_, i) => 2 * i))
    expect(texts.map((text) => leads.find(other, `${text}x`))).toEqual(texts.map((_, i) => i))
    expect([leads.find(one, "t0x"), leads.find(other, "t0"), leads.find(one, "t".repeat(1_000))]).toEqual([
      NONE,
      NONE,
      NONE,
    ])
  })
})
