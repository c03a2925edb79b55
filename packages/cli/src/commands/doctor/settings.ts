// The configuration and the rules it names.

import { readFile } from "node:fs/promises"
import { assertSafeToListen } from "@sluice/server"
import { type Config, ConfigError, readConfig } from "@sluice/server/config"
import { SluiceError } from "sluice"
import { checkRuleSet, parseRuleSet, RuleSetError } from "sluice/rules"
import type { DoctorInvocation } from "../../catalog/doctor.js"
import { counted } from "../../words.js"
import { type Finding, findings } from "./finding.js"

const OLDEST_NODE = [20, 19] as const

export function nodeFinding(version = process.versions.node): Finding {
  const { fine, problem } = findings("node")
  const [major = 0, minor = 0] = version.split(".").map(Number)
  const isNew = major > OLDEST_NODE[0] || (major === OLDEST_NODE[0] && minor >= OLDEST_NODE[1])
  return isNew
    ? fine(version)
    : problem(`${version} is too old`, `Install Node ${OLDEST_NODE.join(".")} or newer.`)
}

/** No configuration when there are mistakes in it: nothing that depends on it can be looked at then. */
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
      found: [fine(`store ${kindOf(config)}, ${counted(config.workers, "worker")}`), ...exposure(config)],
    }
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    const found = error.problems.map(({ place, path, message }) =>
      problem(
        [place, path, message].filter((part) => part !== "").join(" "),
        "Correct it; sluice serve --help lists every setting.",
      ),
    )
    return { config: undefined, found }
  }
}

function kindOf({ store }: Config): string {
  return store.url === "memory" ? "in memory" : "in Redis"
}

function exposure({ control }: Config): Finding[] {
  const { fine, problem, warning } = findings("control plane")
  if (!control.enabled) return [fine("off")]
  try {
    assertSafeToListen(control.host, control.tokens)
    if (control.tokens.length > 0) return [fine(counted(control.tokens.length, "token"))]
    if (!control.open) return [fine("for this machine only, with a token that is made and kept")]
    return [
      warning(
        "open: whoever connects from this machine may do everything, and so may who comes through a proxy on it",
        "Leave control.open away: the service then makes a token, or takes control.tokens.",
      ),
    ]
  } catch (error) {
    if (!(error instanceof SluiceError)) throw error
    return [
      problem(
        error.message,
        "Add control.tokens, or listen on 127.0.0.1; docs/control-plane.md shows how to make a token.",
      ),
    ]
  }
}

export async function rulesFinding({ rules }: Config): Promise<Finding> {
  const { fine, problem } = findings("rules")
  const { file, inline, redis } = rules
  if (file === undefined && inline === undefined)
    return fine(redis.enabled ? "kept in Redis" : "none configured: the service runs its example")
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
        `Correct what is listed${file === undefined ? "" : `; sluice rules validate ${file} checks it again`}.`,
      )
    const { code, message } = error as NodeJS.ErrnoException
    return problem(
      `${file} cannot be read (${code ?? message})`,
      "Name a file that is there and may be read.",
    )
  }
}
