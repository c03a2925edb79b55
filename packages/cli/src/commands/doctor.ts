import type { Config } from "@sluice/server/config"
import { SluiceError } from "sluice"
import type { DoctorInvocation } from "../catalog/doctor.js"
import type { ExitCode } from "../command.js"
import { printable } from "../printable.js"
import type { Style } from "../style.js"
import { counted } from "../words.js"
import { type Finding, findings } from "./doctor/finding.js"
import { redisFindings } from "./doctor/redis.js"
import { serviceFindings } from "./doctor/service.js"
import { configFindings, nodeFinding, rulesFinding } from "./doctor/settings.js"

export async function examine(invocation: DoctorInvocation): Promise<ExitCode> {
  const { options, terminal } = invocation
  const found: Finding[] = []
  const tell = (more: readonly Finding[]) => {
    found.push(...more)
    if (!options.json) for (const finding of more) terminal.print(findingText(finding, terminal.style))
  }
  tell([nodeFinding()])
  const { config, found: inConfig } = configFindings(invocation)
  tell(inConfig)
  if (config !== undefined) {
    tell([await rulesFinding(config)])
    for (const url of redisUrls(config)) tell(await redisFindings(url).catch(refused))
  }
  tell(await serviceFindings(invocation, config))
  const count = (status: Finding["status"]) => found.filter((finding) => finding.status === status).length
  if (options.json) terminal.json(found)
  else terminal.print(`\n${counted(count("problem"), "problem")}, ${counted(count("warning"), "warning")}`)
  return count("problem") === 0 ? 0 : 1
}

/** Of the counters and of the rules, each once. */
function redisUrls({ store, rules }: Config): string[] {
  const urls = [store.url, ...(rules.redis.enabled ? [rules.redis.url ?? store.url] : [])]
  return [...new Set(urls)].filter((url) => url !== "memory")
}

/** A URL that cannot be read. */
function refused(error: unknown): Finding[] {
  if (!(error instanceof SluiceError)) throw error
  return [
    findings("redis").problem(error.message, "Correct store.url; docs/redis.md lists the forms it may have."),
  ]
}

function findingText({ about, status, message, fix }: Finding, style: Style): string {
  const [mark, paint] = MARKS[status](style)
  const lines = message.trimEnd().split("\n").map(printable)
  const text = [`${paint(`${mark} ${status.padEnd(7)}`)} ${style.bold(about)}: ${lines.join("\n  ")}`]
  if (fix !== undefined) text.push(`  ${style.cyan("→")} ${printable(fix)}`)
  return text.join("\n")
}

const MARKS: Record<Finding["status"], (style: Style) => [string, (text: string) => string]> = {
  fine: ({ green }) => ["✓", green],
  warning: ({ yellow }) => ["!", yellow],
  problem: ({ red }) => ["✗", red],
  skipped: ({ dim }) => ["–", dim],
}
