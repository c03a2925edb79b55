import { writeFile } from "node:fs/promises"
import { asEnforced, type Candidate, replay, replayHtml, withAlgorithm } from "@sluice/server/replay"
import { type AlgorithmName, SluiceError } from "sluice"
import { parseRuleSet } from "sluice/rules"
import type { ReplayInvocation } from "../catalog/replay.js"
import type { ExitCode } from "../command.js"
import { nameOf, readInput } from "../input.js"
import type { Terminal } from "../terminal.js"
import { UsageError } from "../usage-error.js"
import { LogInput, logOptionsOf } from "./replay/log-input.js"
import { Progress } from "./replay/progress.js"
import { replayText } from "./replay/replay-text.js"

export async function replayLogs({ args, options, terminal, env }: ReplayInvocation): Promise<ExitCode> {
  const logOptions = logOptionsOf(options)
  const rules = await candidates(options, terminal)
  const input = new LogInput(args.logs, terminal)
  const progress = new Progress(terminal, input, await input.size())
  const report = await replay(input.chunks(), {
    ...logOptions,
    rules,
    secret: env.SLUICE_SECRET,
    onProgress: ({ lines }) => progress.update(lines),
  }).finally(() => progress.end())
  if (options.html !== undefined) await save(options.html, replayHtml(report, titleOf(args.logs)))
  if (options.json) terminal.json(report)
  else terminal.print(replayText(report, terminal.style, terminal.width))
  if (options.html !== undefined) terminal.note(`wrote ${options.html}`)
  return 0
}

function titleOf(logs: readonly string[]): string {
  const [first = "-"] = logs
  return logs.length > 1 ? `${nameOf(first)} and ${logs.length - 1} more` : nameOf(first)
}

/** Every file of rules, by every algorithm that is asked for. */
async function candidates(
  { rules, algorithm, enforce }: ReplayInvocation["options"],
  terminal: Terminal,
): Promise<Candidate[]> {
  if (rules.length === 0) throw new UsageError("--rules", "is required: a file of rules to try")
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

/** Writes a result to a file of the user's. */
export async function save(path: string, text: string): Promise<void> {
  await writeFile(path, text).catch((cause: NodeJS.ErrnoException) => {
    throw new SluiceError("LOG_IO", { place: path, expected: `cannot be written (${cause.code})`, cause })
  })
}
