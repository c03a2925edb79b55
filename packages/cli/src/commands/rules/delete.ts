import { SluiceError } from "sluice"
import { nearest } from "sluice/internal"
import { checkRuleSet } from "sluice/rules"
import type { DeleteRules } from "../../catalog/rules.js"
import type { ExitCode } from "../../command.js"
import { makeChange } from "../../rules/change.js"
import { ruleHome } from "../../rules/rule-home.js"

export async function deleteRules(invocation: DeleteRules): Promise<ExitCode> {
  const { args, options, terminal } = invocation
  const home = await ruleHome(invocation)
  const held = await home.read()
  const known = held.document.rules.map(({ id }) => id)
  for (const id of args.id) {
    if (known.includes(id)) continue
    const guess = nearest(id, known)
    const hint = guess === undefined ? "" : `; did you mean ${guess}?`
    throw new SluiceError("RULE_UNKNOWN", {
      place: home.name,
      expected: `has no rule ${JSON.stringify(id)}${hint}`,
    })
  }
  const rules = held.document.rules.filter(({ id }) => !args.id.includes(id))
  const next = checkRuleSet({ ...held.document, rules })
  const make = () => home.replace(held, next, options.comment)
  return await makeChange({ home, held, next, options, terminal, make })
}
