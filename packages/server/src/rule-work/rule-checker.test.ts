import { ruleSetEtag } from "sluice/internal/rules"
import { describe, expect, it } from "vitest"
import { RuleChecker } from "./rule-checker.js"

const good = { version: 1, rules: [{ id: "a", limits: "unlimited" }] }

describe("RuleChecker", () => {
  const bad = { version: 1, rules: [{ id: "a", limits: "none" }, {}] }

  it("lists the mistakes of a set with their places", async () => {
    const checker = new RuleChecker()
    expect((await checker.check({ value: good })).document).toEqual(good)
    expect(await checker.check({ text: JSON.stringify(good) })).toEqual({
      document: good,
      etag: ruleSetEtag(good),
    })
    const refused = await checker.check({ text: JSON.stringify(bad) }).catch((error) => error)
    expect(refused).toMatchObject({ name: "SluiceError", code: "RULES_INVALID" })
    expect(refused.problems.map(({ path }: { path: string }) => path)).toEqual([
      "rules[0].limits",
      "rules[1].id",
      "rules[1].limits",
    ])
    expect(refused.problems[0].line).toBe(1)
  })

  it("reads a single rule as a part of its set", async () => {
    const checker = new RuleChecker()
    const within = { version: 1 as const, rules: [{ id: "a", limits: "unlimited" as const }] }
    const rule = { id: "b", replaces: ["a"], limits: "unlimited" }
    expect(await checker.checkRule({ text: JSON.stringify(rule), within, id: "" })).toEqual(rule)
    const refused = checker.checkRule({ text: "id: b\nlimits: 1", within, id: "a" })
    await expect(refused).rejects.toMatchObject({ problems: [{ path: "rules[0].limits", line: 2 }] })
  })
})

describe("a thread that checks", () => {
  it("refuses aliases, which let a few bytes stand for many", async () => {
    const text = "a: &a [1]\nversion: 1\nrules: *a\n"
    await expect(new RuleChecker().check({ text })).rejects.toMatchObject({
      code: "RULES_INVALID",
      problems: [{ code: "RULES_SYNTAX", line: 3, message: expect.stringContaining("alias") }],
    })
  })

  it("refuses a task at once while too many wait, and checks the others", async () => {
    const checker = new RuleChecker()
    const all = await Promise.allSettled(Array.from({ length: 50 }, () => checker.check({ value: good })))
    const refused = all.filter(({ status }) => status === "rejected")
    expect(refused).toHaveLength(18)
    expect(refused[0]).toMatchObject({ reason: { code: "RULES_BUSY" } })
    expect((await checker.check({ value: good })).document).toEqual(good)
  })
})
