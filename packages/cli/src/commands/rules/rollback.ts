import type { RollbackRules } from "../../catalog/rules.js"
import type { ExitCode } from "../../command.js"
import { makeChange } from "../../rules/change.js"
import { ruleHome } from "../../rules/rule-home.js"
import { UsageError } from "../../usage-error.js"

export async function rollbackRules(invocation: RollbackRules): Promise<ExitCode> {
  const { args, options, terminal } = invocation
  if (!/^[1-9]\d{0,14}$/.test(args.revision))
    throw new UsageError("revision", "must be the number of a revision; see sluice rules history", {
      found: args.revision,
    })
  const to = Number(args.revision)
  const home = await ruleHome(invocation)
  const next = await home.revision(to)
  const held = await home.read()
  const make = () => home.rollback(held, to, options.comment)
  return await makeChange({ home, held, next, options, terminal, make })
}
