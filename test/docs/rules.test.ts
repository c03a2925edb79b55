// Every rule set that the pages show is one that the engine takes.

import { parseRuleSet } from "sluice/rules"
import { describe, expect, it } from "vitest"
import { pages, readPage } from "./examples.js"

const blocks = pages().flatMap((page) =>
  [...readPage(page).matchAll(/```yaml\n([\s\S]*?)\n```/g)]
    .map(([, text = ""], i) => ({ page, i, text }))
    // In a configuration of the service `rules` is a map: where to find them.
    .filter(({ text }) => /^rules:[^\n]*\n\s*-/m.test(text)),
)

describe.each(blocks)("$page, rule set $i", ({ text }) => {
  it("is valid", () => {
    expect(parseRuleSet(text).rules.length).toBeGreaterThan(0)
  })
})

describe("the rule sets of the pages", () => {
  it("are found", () => {
    expect(blocks.length).toBeGreaterThan(1)
  })
})
