import type { Config } from "@sluice/server/config"
import { SluiceError } from "sluice"
import type { DoctorInvocation } from "../../catalog/setup.js"
import type { ExitCode } from "../../command.js"
import { counted } from "../../terminal/text.js"
import { type Finding, findings, findingText } from "./finding.js"
import { redisFindings } from "./redis.js"
import { serviceFindings } from "./service.js"
import { configFindings, nodeFinding, rulesFinding } from "./settings.js"

export async function runDoctor(invocation: DoctorInvocation): Promise<ExitCode> {
  const { options, terminal } = invocation
  const found: Finding[] = []
  const add = (more: readonly Finding[]) => {
    found.push(...more)
    if (!options.json) for (const finding of more) terminal.print(findingText(finding, terminal.style))
  }
  add([nodeFinding()])
  const { config, found: inConfig } = configFindings(invocation)
  add(inConfig)
  if (config !== undefined) {
    add([await rulesFinding(config)])
    for (const url of redisUrls(config)) add(await redisFindings(url).catch(invalidUrl))
  }
  add(await serviceFindings(invocation, config))
  const count = (status: Finding["status"]) => found.filter((finding) => finding.status === status).length
  if (options.json) terminal.json(found)
  else terminal.print(`\n${counted(count("problem"), "problem")}, ${counted(count("warning"), "warning")}`)
  return count("problem") === 0 ? 0 : 1
}

/** The Redis URLs of the counters and of the rules, without duplicates. */
function redisUrls({ store, rules }: Config): string[] {
  const urls = [store.url, ...(rules.redis.enabled ? [rules.redis.url ?? store.url] : [])]
  return [...new Set(urls)].filter((url) => url !== "memory")
}

function invalidUrl(error: unknown): Finding[] {
  if (!(error instanceof SluiceError)) throw error
  return [
    findings("redis").problem(error.message, "Correct store.url. docs/redis.md lists the supported forms."),
  ]
}
