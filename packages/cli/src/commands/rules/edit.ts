// The commands that change rules: apply, delete, rollback.

import { SluiceError } from "sluice"
import { nearest } from "sluice/internal"
import { checkRuleSet, parseRuleSet, type RuleSetDocument } from "sluice/rules"
import type { ApplyRules, DeleteRules, RollbackRules } from "../../catalog/rules.js"
import { type ExitCode, UsageError } from "../../command.js"
import { nameOf, readInput } from "../../files.js"
import { makeChange } from "./change.js"
import { openLocation } from "./open-location.js"

export async function applyRules(invocation: ApplyRules): Promise<ExitCode> {
  const { args, options, terminal } = invocation
  const location = await openLocation(invocation)
  const given = parseRuleSet(await readInput(args.rules, terminal.stdin), { name: nameOf(args.rules) })
  const base = await location.read()
  const next = options.merge ? merged(base.document, given) : given
  const save = () => location.replace(base, next, options.comment)
  return await makeChange({ location, base, next, options, terminal, save })
}

/** Adds rules and sections to a rule set. A rule replaces the rule with its id, a section the section with its name. */
function merged(into: RuleSetDocument, given: RuleSetDocument): RuleSetDocument {
  const givenRules = new Map(given.rules.map((rule) => [rule.id, rule]))
  const known = new Set(into.rules.map(({ id }) => id))
  const rules = [
    ...into.rules.map((rule) => givenRules.get(rule.id) ?? rule),
    ...given.rules.filter(({ id }) => !known.has(id)),
  ]
  // Two valid rule sets may be invalid together, for example an override of a limit that the other set removes.
  return checkRuleSet({ ...into, ...given, rules })
}

export async function deleteRules(invocation: DeleteRules): Promise<ExitCode> {
  const { args, options, terminal } = invocation
  const location = await openLocation(invocation)
  const base = await location.read()
  const known = base.document.rules.map(({ id }) => id)
  for (const id of args.id) {
    if (known.includes(id)) continue
    const guess = nearest(id, known)
    const hint = guess === undefined ? "" : `; did you mean ${guess}?`
    throw new SluiceError("RULE_UNKNOWN", {
      place: location.name,
      expected: `has no rule ${JSON.stringify(id)}${hint}`,
    })
  }
  const rules = base.document.rules.filter(({ id }) => !args.id.includes(id))
  const next = checkRuleSet({ ...base.document, rules })
  const save = () => location.replace(base, next, options.comment)
  return await makeChange({ location, base, next, options, terminal, save })
}

export async function rollbackRules(invocation: RollbackRules): Promise<ExitCode> {
  const { args, options, terminal } = invocation
  if (!/^[1-9]\d{0,14}$/.test(args.revision))
    throw new UsageError("revision", "must be the number of a revision; see sluice rules history", {
      found: args.revision,
    })
  const to = Number(args.revision)
  const location = await openLocation(invocation)
  const next = await location.revision(to)
  const base = await location.read()
  const save = () => location.rollback(base, to, options.comment)
  return await makeChange({ location, base, next, options, terminal, save })
}
