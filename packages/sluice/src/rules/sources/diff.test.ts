import { describe, expect, it } from "vitest"
import { diffRuleSets } from "./diff.js"
import { rule, setOf } from "./rule-sets.test-support.js"

const none = { added: [], removed: [], changed: [], sections: [] }

describe("diffRuleSets", () => {
  it("finds nothing between sets that differ in the order of fields only", () => {
    const { id, limits } = rule("login")
    expect(diffRuleSets(setOf(rule("login")), { rules: [{ limits, id }], version: 1 })).toEqual(none)
  })

  it("names rules that came, went and changed by their ids", () => {
    const before = setOf(rule("kept"), rule("gone"), rule("changed", 1))
    const after = setOf(rule("new"), rule("kept"), rule("changed", 2))
    expect(diffRuleSets(before, after)).toEqual({
      added: ["new"],
      removed: ["gone"],
      changed: ["changed"],
      sections: [],
    })
  })

  it("says that rules changed places when the ones that stayed did", () => {
    const before = setOf(rule("a"), rule("gone"), rule("b"))
    expect(diffRuleSets(before, setOf(rule("b"), rule("a")))).toEqual({
      ...none,
      removed: ["gone"],
      sections: ["rules"],
    })
    expect(diffRuleSets(before, setOf(rule("a"), rule("new"), rule("b"))).sections).toEqual([])
  })

  it("names other parts that came, went or changed", () => {
    const before = { ...setOf(rule("a")), allow: ["user:1"], deny: ["user:2"], tiers: { gold: ["user:3"] } }
    const after = { ...setOf(rule("a")), allow: ["user:1"], deny: ["user:4"], defaults: { tier: "gold" } }
    expect(diffRuleSets(before, after)).toEqual({ ...none, sections: ["deny", "tiers", "defaults"] })
  })

  it("takes everything for new when there was nothing before", () => {
    expect(diffRuleSets(undefined, setOf(rule("a"), rule("b")))).toEqual({
      ...none,
      added: ["a", "b"],
      sections: ["version"],
    })
  })
})
