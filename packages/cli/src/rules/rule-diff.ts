// What one rule set changes of another, to read: per rule and section, in YAML.

import { diffRuleSets, type RuleSetDocument } from "sluice/rules"
import { stringify } from "yaml"
import { lineDiff } from "../line-diff.js"
import { printable } from "../printable.js"
import type { Style } from "../style.js"

export function diffText(before: RuleSetDocument, after: RuleSetDocument, style: Style): string {
  const { added, removed, changed, sections } = diffRuleSets(before, after)
  const parts = [
    ...sections
      .filter((name) => name !== "rules")
      .map((name) => part(name, section(before, name), section(after, name))),
    ...removed.map((id) => part(`rule ${id}`, ruleIn(before, id), undefined)),
    ...changed.map((id) => part(`rule ${id}`, ruleIn(before, id), ruleIn(after, id))),
    ...added.map((id) => part(`rule ${id}`, undefined, ruleIn(after, id))),
    ...(sections.includes("rules") ? [orderPart(before, after)] : []),
  ]
  return parts.join("\n")

  function part(title: string, old: unknown, now: unknown): string {
    const lines = lineDiff(yamlLines(old), yamlLines(now)).map(({ sign, text }) => {
      const line = `${sign} ${printable(text)}`
      return sign === "+" ? style.green(line) : sign === "-" ? style.red(line) : line
    })
    return [style.bold(`@ ${title}`), ...lines].join("\n")
  }

  function orderPart(old: RuleSetDocument, now: RuleSetDocument): string {
    return part(
      "order of rules",
      old.rules.map(({ id }) => id),
      now.rules.map(({ id }) => id),
    )
  }
}

function section(set: RuleSetDocument, name: string): unknown {
  return (set as Readonly<Record<string, unknown>>)[name]
}

function ruleIn({ rules }: RuleSetDocument, id: string): unknown {
  return rules.find((rule) => rule.id === id)
}

function yamlLines(value: unknown): string[] {
  return value === undefined ? [] : stringify(value, { lineWidth: 0 }).trimEnd().split("\n")
}
