// An option of a limit or a cost is listed in several files that no compiler compares: the limiter, the rule language, two pages of the
// docs and the form of the dashboard.

import { readFileSync } from "node:fs"
import { expect, it } from "vitest"
import type { PenaltyOptions } from "../../packages/sluice/src/penalty-options.js"
import { LIMIT_FIELDS } from "../../packages/sluice/src/policy.js"
import { costSchema, limitSchema } from "../../packages/sluice/src/rules/language/schema.js"
import { fromRoot } from "./examples.js"

it("the rule language takes every option of a limit", () => {
  expect(Object.keys(limitSchema.shape).sort()).toEqual([...LIMIT_FIELDS].sort())
})

it.each(["docs/algorithms.md", "docs/rules.md", "packages/dashboard/src/pages/rules/form/limits-form.tsx"])(
  "%s has every option of a limit",
  (file) => {
    const text = readFileSync(fromRoot(file), "utf8")
    expect(LIMIT_FIELDS.filter((option) => !new RegExp(`["\`]${option}\\b`).test(text))).toEqual([])
  },
)

/** The compiler compares it with the options of the library. */
const PENALTY: Required<PenaltyOptions> = {
  after: 5,
  within: "10m",
  block: "1h",
  factor: 2,
  max: "1d",
  forget: "7d",
}

it("the rule language takes every option of a penalty, and no other", () => {
  const rules = (penalty: object) => [{ limit: 1, window: "1m", penalty }]
  expect(limitSchema.array().safeParse(rules(PENALTY)).success).toBe(true)
  expect(limitSchema.array().safeParse(rules({ ...PENALTY, other: 1 })).success).toBe(false)
})

it("docs/algorithms.md has every option of a penalty", () => {
  const text = readFileSync(fromRoot("docs/algorithms.md"), "utf8")
  expect(Object.keys(PENALTY).filter((option) => !text.includes(`\`${option}\``))).toEqual([])
})

const COST_FIELDS = Object.keys(costSchema.options[1].shape)
/** The form of the dashboard leaves these to YAML. */
const COST_IN_YAML = ["default", "by", "header", "models", "max"]

it("docs/rules.md has every option of a cost", () => {
  const text = readFileSync(fromRoot("docs/rules.md"), "utf8")
  expect(COST_FIELDS.filter((option) => !new RegExp(`\\b${option}\\b`).test(text))).toEqual([])
})

it("the form of the dashboard has every option of a cost that it does not leave to YAML", () => {
  const form = readFileSync(fromRoot("packages/dashboard/src/pages/rules/form/rule-form.tsx"), "utf8")
  const hasField = (option: string) => form.includes(`path={["cost", "${option}"]}`)
  expect(COST_FIELDS.filter((option) => !hasField(option)).sort()).toEqual([...COST_IN_YAML].sort())
})
