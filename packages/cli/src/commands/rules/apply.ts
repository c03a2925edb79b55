import { checkRuleSet, parseRuleSet, type RuleSetDocument } from "sluice/rules"
import type { ApplyRules } from "../../catalog/rules.js"
import type { ExitCode } from "../../command.js"
import { nameOf, readInput } from "../../input.js"
import { makeChange } from "../../rules/change.js"
import { ruleHome } from "../../rules/rule-home.js"

export async function applyRules(invocation: ApplyRules): Promise<ExitCode> {
  const { args, options, terminal } = invocation
  const home = await ruleHome(invocation)
  const given = parseRuleSet(await readInput(args.rules, terminal.stdin), { name: nameOf(args.rules) })
  const held = await home.read()
  const next = options.merge ? merged(held.document, given) : given
  const make = () => home.replace(held, next, options.comment)
  return await makeChange({ home, held, next, options, terminal, make })
}

/** Rules take the place of those with the same id, and other sections that of the same name. */
function merged(into: RuleSetDocument, given: RuleSetDocument): RuleSetDocument {
  const added = new Map(given.rules.map((rule) => [rule.id, rule]))
  const known = new Set(into.rules.map(({ id }) => id))
  const rules = [
    ...into.rules.map((rule) => added.get(rule.id) ?? rule),
    ...given.rules.filter(({ id }) => !known.has(id)),
  ]
  // Together they may be wrong where each of them is right: an override of a rule that limits differently now.
  return checkRuleSet({ ...into, ...given, rules })
}
