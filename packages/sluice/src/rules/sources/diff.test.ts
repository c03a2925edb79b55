import { describe, expect, it } from "vitest"
import { diffRuleSets } from "./diff.js"
import { rule, setOf } from "./rule-sets.test-support.js"

const none = { added: [], removed: [], changed: [], sections: [] }

describe("diffRuleSets", () => {
  it("finds nothing between sets that differ in the order of fields only", () => {
    const { id, limits } = rule("login")
    expect(diffRuleSets(setOf(rule("login")), { rules: [{ limits, id }], version: 1 })).toEqual(none)
  })

  it("lists added, removed and changed rules by id", () => {
    const before = setOf(rule("kept"), rule("gone"), rule("changed", 1))
    const after = setOf(rule("new"), rule("kept"), rule("changed", 2))
    expect(diffRuleSets(before, after)).toEqual({
      added: ["new"],
      removed: ["gone"],
      changed: ["changed"],
      sections: [],
    })
  })

  it("reports a new order only if rules that stayed changed places", () => {
    const before = setOf(rule("a"), rule("gone"), rule("b"))
    expect(diffRuleSets(before, setOf(rule("b"), rule("a")))).toEqual({
      ...none,
      removed: ["gone"],
      sections: ["rules"],
    })
    expect(diffRuleSets(before, setOf(rule("a"), rule("new"), rule("b"))).sections).toEqual([])
  })

  it("lists other parts that were added, removed or changed", () => {
    const before = { ...setOf(rule("a")), allow: ["user:1"], deny: ["user:2"], tiers: { gold: ["user:3"] } }
    const after = { ...setOf(rule("a")), allow: ["user:1"], deny: ["user:4"], defaults: { tier: "gold" } }
    expect(diffRuleSets(before, after)).toEqual({ ...none, sections: ["deny", "tiers", "defaults"] })
  })

  it("lists everything as added when there was no set before", () => {
    expect(diffRuleSets(undefined, setOf(rule("a"), rule("b")))).toEqual({
      ...none,
      added: ["a", "b"],
      sections: ["version"],
    })
  })
})
