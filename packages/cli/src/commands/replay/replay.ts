import { asEnforced, type Candidate, replay, replayHtml, withAlgorithm } from "@sluice/server/replay"
import type { AlgorithmName } from "sluice"
import { parseRuleSet } from "sluice/rules"
import type { ReplayInvocation } from "../../catalog/replay.js"
import { type ExitCode, UsageError } from "../../command.js"
import { nameOf, readInput, writeResult } from "../../files.js"
import type { Terminal } from "../../terminal/terminal.js"
import { LogInput, loggedCostOf, logOptionsOf } from "./log-input.js"
import { Progress } from "./progress.js"
import { replayText } from "./replay-text.js"

export async function replayLogs({ args, options, terminal, env }: ReplayInvocation): Promise<ExitCode> {
  const logOptions = logOptionsOf(options)
  const cost = loggedCostOf(options.costField, options.costBytesPerUnit)
  const rules = await candidates(options, terminal)
  const input = new LogInput(args.logs, terminal)
  const progress = new Progress(terminal, input, await input.size())
  const report = await replay(input.chunks(), {
    ...logOptions,
    rules,
    cost,
    secret: env.SLUICE_SECRET,
    onProgress: ({ lines }) => progress.update(lines),
  }).finally(() => progress.end())
  if (options.html !== undefined) await writeResult(options.html, replayHtml(report, titleOf(args.logs)))
  if (options.json) terminal.json(report)
  else terminal.print(replayText(report, terminal.style, terminal.width))
  if (options.html !== undefined) terminal.note(`wrote ${options.html}`)
  return 0
}

function titleOf(logs: readonly string[]): string {
  const [first = "-"] = logs
  return logs.length > 1 ? `${nameOf(first)} and ${logs.length - 1} more` : nameOf(first)
}

/** One candidate for each rules file, or for each combination of rules file and algorithm. */
async function candidates(
  { rules, algorithm, enforce }: ReplayInvocation["options"],
  terminal: Terminal,
): Promise<Candidate[]> {
  if (rules.length === 0) throw new UsageError("--rules", "is required: the rules file to test")
  const found: Candidate[] = []
  for (const path of rules) {
    const name = nameOf(path)
    const written = parseRuleSet(await readInput(path, terminal.stdin), { name })
    const ruleSet = enforce ? asEnforced(written) : written
    if (algorithm.length === 0) found.push({ name, ruleSet })
    for (const one of algorithm as readonly AlgorithmName[])
      found.push({ name: rules.length > 1 ? `${name}, ${one}` : one, ruleSet: withAlgorithm(ruleSet, one) })
  }
  return found
}
