import { askedRequest } from "../asked-request.js"
import type { ExplainInvocation } from "../catalog/check.js"
import type { ExitCode } from "../command.js"
import type { ShownDecision } from "../decision-text.js"
import { decisionForJson, openLocalEngine } from "../local-engine.js"
import { printable } from "../printable.js"
import { dataPlane } from "../service.js"
import type { Terminal } from "../terminal.js"
import { UsageError } from "../usage-error.js"

interface ShownRule {
  readonly rule: string
  readonly mode: string
  readonly applies: boolean
  readonly because: string
  readonly key?: string
  readonly cost?: number
  readonly limits?: readonly {
    readonly name: string
    readonly limit: number | null
    readonly remaining: number | null
  }[]
}

interface ShownExplanation {
  readonly revision: number
  readonly rules: readonly ShownRule[]
  readonly decision: ShownDecision
  readonly verdict: string
}

export async function explainRequest(invocation: ExplainInvocation): Promise<ExitCode> {
  const { options, terminal } = invocation
  const explanation = await explained(invocation)
  if (options.json) terminal.json(explanation)
  else show(explanation, options.all, terminal)
  return explanation.decision.allowed ? 0 : 1
}

async function explained({ args, options, terminal, env }: ExplainInvocation): Promise<ShownExplanation> {
  if (options.rules !== undefined && options.url !== undefined)
    throw new UsageError("--rules", "cannot be given beside --url")
  const cost = options.cost === undefined ? {} : { cost: options.cost }
  const request = { ...askedRequest({ args, options }), ...cost }
  if (options.rules === undefined)
    return await dataPlane(options, env).ask<ShownExplanation>("POST", "/v1/explain", { body: request })
  const engine = await openLocalEngine(options.rules, terminal.stdin)
  return decisionForJson(await engine.explain(request, cost)) as ShownExplanation
}

function show({ rules, decision, verdict }: ShownExplanation, all: boolean, terminal: Terminal): void {
  const { style } = terminal
  terminal.print((decision.allowed ? style.green : style.red)(printable(verdict)))
  const shown = rules.filter(({ applies }) => all || applies)
  for (const { rule, mode, applies, because, key, cost, limits = [] } of shown) {
    const mark = applies ? style.green("●") : style.dim("○")
    const inMode = mode === "enforce" ? "" : style.yellow(` (${mode})`)
    terminal.print(`\n${mark} ${style.bold(printable(rule))}${inMode}: ${printable(because)}`)
    if (key !== undefined)
      terminal.print(`  key ${printable(key)}${cost === undefined ? "" : `, cost ${cost}`}`)
    for (const { name, limit, remaining } of limits)
      terminal.print(`  ${printable(name)}: ${remaining ?? "∞"} of ${limit ?? "∞"} left`)
  }
  const hidden = rules.length - shown.length
  if (hidden > 0) terminal.note(terminal.noteStyle.dim(`${hidden} more without a say; --all shows them`))
}
