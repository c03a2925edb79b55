// Checks of Node, the configuration, and the rules that the configuration names.

import { readFile } from "node:fs/promises"
import { assertSafeToListen } from "@sluice/server"
import { type Config, ConfigError, readConfig } from "@sluice/server/config"
import { SluiceError } from "sluice"
import { checkRuleSet, parseRuleSet, RuleSetError } from "sluice/rules"
import type { DoctorInvocation } from "../../catalog/setup.js"
import { counted } from "../../terminal/text.js"
import { type Finding, findings } from "./finding.js"

const MIN_NODE = [20, 19] as const

export function nodeFinding(version = process.versions.node): Finding {
  const { fine, problem } = findings("node")
  const [major = 0, minor = 0] = version.split(".").map(Number)
  const isNew = major > MIN_NODE[0] || (major === MIN_NODE[0] && minor >= MIN_NODE[1])
  return isNew
    ? fine(version)
    : problem(`${version} is too old`, `Install Node ${MIN_NODE.join(".")} or newer.`)
}

/** `config` is undefined if the configuration has mistakes. The checks that depend on it are then skipped. */
export function configFindings({ options, env }: DoctorInvocation): {
  config: Config | undefined
  found: Finding[]
} {
  const { fine, problem } = findings("configuration")
  const given = [
    ["--config", options.config],
    ["--store.url", options.store],
    ["--rules.file", options.rules],
  ] as const
  try {
    const argv = given.flatMap(([flag, value]) => (value === undefined ? [] : [flag, value]))
    const { config } = readConfig({ argv, env })
    return {
      config,
      found: [
        fine(`${storeText(config)}, ${counted(config.workers, "worker")}`),
        ...controlPlaneFindings(config),
      ],
    }
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    const found = error.problems.map(({ place, path, message }) =>
      problem(
        [place, path, message].filter((part) => part !== "").join(" "),
        "Correct the setting. sluice serve --help lists all settings.",
      ),
    )
    return { config: undefined, found }
  }
}

function storeText({ store }: Config): string {
  return store.url === "memory" ? "memory store" : "Redis store"
}

function controlPlaneFindings({ control }: Config): Finding[] {
  const { fine, problem, warning } = findings("control plane")
  if (!control.enabled) return [fine("disabled")]
  try {
    assertSafeToListen(control.host, control.tokens)
    if (control.tokens.length > 0) return [fine(counted(control.tokens.length, "token"))]
    if (!control.open) return [fine("reachable from this machine only, with a generated token")]
    return [
      warning(
        "control.open: everybody who can connect from this machine has full access, including through a proxy on it",
        "Remove control.open. The service then uses control.tokens, or generates a token.",
      ),
    ]
  } catch (error) {
    if (!(error instanceof SluiceError)) throw error
    return [
      problem(
        error.message,
        "Add control.tokens, or listen on 127.0.0.1. docs/control-plane.md shows how to create a token.",
      ),
    ]
  }
}

export async function rulesFinding({ rules }: Config): Promise<Finding> {
  const { fine, problem } = findings("rules")
  const { file, inline, redis } = rules
  if (file === undefined && inline === undefined)
    return fine(redis.enabled ? "stored in Redis" : "none configured: the service uses its example rules")
  try {
    const { rules } =
      file === undefined
        ? checkRuleSet(inline, { name: "rules.inline" })
        : parseRuleSet(await readFile(file, "utf8"), { name: file })
    return fine(`${file ?? "in the configuration"}: ${counted(rules.length, "rule")}`)
  } catch (error) {
    if (error instanceof RuleSetError)
      return problem(
        error.message,
        `Correct the mistakes.${file === undefined ? "" : ` To check again: sluice rules validate ${file}`}`,
      )
    const { code, message } = error as NodeJS.ErrnoException
    return problem(
      `${file} cannot be read (${code ?? message})`,
      "Set rules.file to a file that exists and that this user may read.",
    )
  }
}
