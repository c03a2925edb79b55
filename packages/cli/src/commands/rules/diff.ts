import { diffRuleSets, parseRuleSet } from "sluice/rules"
import type { DiffRules } from "../../catalog/rules.js"
import type { ExitCode } from "../../command.js"
import { nameOf, readInput } from "../../input.js"
import { isEmpty } from "../../rules/changes.js"
import { diffText } from "../../rules/rule-diff.js"
import { ruleHome } from "../../rules/rule-home.js"
import { UsageError } from "../../usage-error.js"

export async function diffRules(invocation: DiffRules): Promise<ExitCode> {
  const { args, options, terminal } = invocation
  if (args.other !== undefined && (options.file ?? options.url) !== undefined)
    throw new UsageError(args.other, "cannot be given beside --file or --url, which name the other side")
  const read = async (path: string) =>
    parseRuleSet(await readInput(path, terminal.stdin), { name: nameOf(path) })
  const given = await read(args.rules)
  const [before, after] =
    args.other === undefined
      ? [(await (await ruleHome(invocation)).read()).document, given]
      : [given, await read(args.other)]
  const changes = diffRuleSets(before, after)
  const differ = !isEmpty(changes)
  if (options.json) terminal.json(changes)
  else if (differ) terminal.print(diffText(before, after, terminal.style))
  return differ ? 1 : 0
}
