import type { ExplainInvocation } from "../../catalog/check.js"
import type { ExitCode } from "../../command.js"
import type { Terminal } from "../../terminal/terminal.js"
import { counted, printable } from "../../terminal/text.js"
import { type Explanation, openDecider } from "./decider.js"
import { describedRequest } from "./request.js"

export async function explainRequest(invocation: ExplainInvocation): Promise<ExitCode> {
  const { options, terminal } = invocation
  const request = describedRequest(invocation)
  const explanation = await (await openDecider(invocation)).explain(request)
  if (options.json) terminal.json(explanation)
  else show(explanation, options.all, terminal)
  return explanation.decision.allowed ? 0 : 1
}

function show({ rules, decision, verdict }: Explanation, all: boolean, terminal: Terminal): void {
  const { style } = terminal
  terminal.print((decision.allowed ? style.green : style.red)(printable(verdict)))
  const shown = rules.filter(({ applies }) => all || applies)
  for (const { rule, mode, applies, because, key, cost, limits = [], leases = [], response } of shown) {
    const mark = applies ? style.green("●") : style.dim("○")
    const inMode = mode === "enforce" ? "" : style.yellow(` (${mode})`)
    terminal.print(`\n${mark} ${style.bold(printable(rule))}${inMode}: ${printable(because)}`)
    if (key !== undefined)
      terminal.print(`  key ${printable(key)}${cost === undefined ? "" : `, cost ${cost}`}`)
    for (const { name, limit, remaining } of limits)
      terminal.print(`  ${printable(name)}: ${remaining ?? "∞"} of ${limit ?? "∞"} left`)
    for (const sentence of leases) terminal.print(`  ${printable(sentence)}`)
    if (response !== undefined) terminal.print(`  ${printable(response)}`)
  }
  const hidden = rules.length - shown.length
  if (hidden > 0)
    terminal.note(
      terminal.noteStyle.dim(
        `${counted(hidden, "rule")} ${hidden === 1 ? "does" : "do"} not apply (shown with --all)`,
      ),
    )
}
