// The difference between two rule sets: per rule and section, as a diff of YAML.

import { diffArrays } from "diff"
import { diffRuleSets, parseRuleSet, type RuleSetDocument } from "sluice/rules"
import { stringify } from "yaml"
import type { DiffRules } from "../../catalog/rules.js"
import { type ExitCode, UsageError } from "../../command.js"
import { nameOf, readInput } from "../../files.js"
import type { Style } from "../../terminal/terminal.js"
import { printable } from "../../terminal/text.js"
import { openLocation } from "./open-location.js"

export async function diffRules(invocation: DiffRules): Promise<ExitCode> {
  const { args, options, terminal } = invocation
  if (args.other !== undefined && (options.file ?? options.url) !== undefined)
    throw new UsageError(args.other, "cannot be combined with --file or --url, which name the other rule set")
  const read = async (path: string) =>
    parseRuleSet(await readInput(path, terminal.stdin), { name: nameOf(path) })
  const given = await read(args.rules)
  const [before, after] =
    args.other === undefined
      ? [(await (await openLocation(invocation)).read()).document, given]
      : [given, await read(args.other)]
  const text = diffText(before, after, terminal.style)
  if (options.json) terminal.json(diffRuleSets(before, after))
  else if (text !== "") terminal.print(text)
  return text === "" ? 0 : 1
}

/** Empty if the rule sets are the same. */
export function diffText(before: RuleSetDocument, after: RuleSetDocument, style: Style): string {
  const { added, removed, changed, sections } = diffRuleSets(before, after)
  const parts = [
    ...sections
      .filter((name) => name !== "rules")
      .map((name) => part(name, section(before, name), section(after, name))),
    ...removed.map((id) => part(`rule ${id}`, ruleIn(before, id), undefined)),
    ...changed.map((id) => part(`rule ${id}`, ruleIn(before, id), ruleIn(after, id))),
    ...added.map((id) => part(`rule ${id}`, undefined, ruleIn(after, id))),
    ...(sections.includes("rules") ? [part("order of rules", idsOf(before), idsOf(after))] : []),
  ]
  return parts.join("\n")

  function part(title: string, old: unknown, now: unknown): string {
    const lines = diffArrays(yamlLines(old), yamlLines(now)).flatMap(({ added, removed, value }) => {
      const [sign, paint] = added ? ["+", style.green] : removed ? ["-", style.red] : [" ", String]
      return value.map((line) => paint(`${sign} ${printable(line)}`))
    })
    return [style.bold(`@ ${title}`), ...lines].join("\n")
  }
}

function section(set: RuleSetDocument, name: string): unknown {
  return (set as Readonly<Record<string, unknown>>)[name]
}

function ruleIn({ rules }: RuleSetDocument, id: string): unknown {
  return rules.find((rule) => rule.id === id)
}

function idsOf({ rules }: RuleSetDocument): string[] {
  return rules.map(({ id }) => id)
}

function yamlLines(value: unknown): string[] {
  return value === undefined ? [] : stringify(value, { lineWidth: 0 }).trimEnd().split("\n")
}
