import { SluiceError } from "sluice"
import { stringify } from "yaml"
import type { GetRules } from "../../catalog/rules.js"
import type { ExitCode } from "../../command.js"
import { ruleHome } from "../../rules/rule-home.js"

export async function getRules(invocation: GetRules): Promise<ExitCode> {
  const { args, options, terminal } = invocation
  const home = await ruleHome(invocation)
  const { revision } = options
  const held = revision === undefined ? await home.read() : undefined
  const document = held?.document ?? (await home.revision(revision as number))
  const shown = args.id === undefined ? document : document.rules.find(({ id }) => id === args.id)
  if (shown === undefined)
    throw new SluiceError("RULE_UNKNOWN", {
      place: home.name,
      expected: "has no rule of this id",
      found: args.id,
    })
  if (options.json) terminal.json(shown)
  else {
    // The whole set of a file is shown as it was written, comments and all.
    const text = args.id === undefined && held !== undefined ? held.text : stringify(shown, { lineWidth: 0 })
    terminal.print(text.trimEnd())
  }
  return 0
}
