import type { CheckInvocation } from "../../catalog/check.js"
import { type ExitCode, UsageError } from "../../command.js"
import { type KeyCheck, openDecider } from "./decider.js"
import { decisionText, type ShownDecision } from "./decision-text.js"
import { type DescribedRequest, describedRequest } from "./request.js"

export async function checkRequest(invocation: CheckInvocation): Promise<ExitCode> {
  const { options, terminal } = invocation
  const question = questionOf(invocation)
  const decider = await openDecider(invocation)
  const decisions: ShownDecision[] = []
  for (let i = 0; i < options.times; i++) {
    const decision = await decider.check(question)
    decisions.push(decision)
    if (!options.json) terminal.print(decisionText(decision, terminal.style))
  }
  if (options.json) terminal.json(options.times === 1 ? decisions[0] : decisions)
  return decisions.at(-1)?.allowed ? 0 : 1
}

function questionOf({ args, options }: CheckInvocation): DescribedRequest | KeyCheck {
  const { rule, tier, cost } = options
  if (rule === undefined) return describedRequest({ args, options })
  const [key, ...more] = args.key
  if (key === undefined || more.length > 0)
    throw new UsageError("key", "exactly one key is required with --rule")
  for (const name of ["method", "path", "host"] as const)
    if (options[name] !== undefined) throw new UsageError(`--${name}`, "cannot be combined with --rule")
  return {
    rule,
    key,
    ...(tier === undefined ? {} : { tier }),
    ...(cost === undefined ? {} : { cost }),
  }
}
