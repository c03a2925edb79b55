import { redactUrl } from "sluice/redis"
import { stringify } from "yaml"
import type { Config } from "./schema.js"
import { isSecret, withoutLogin } from "./secrets.js"

const HIDDEN = "***"

/** The configuration in force as YAML in the form of a configuration file, without secrets. */
export function printConfig(config: Config): string {
  return stringify(hide(config, []))
}

function hide(value: unknown, path: readonly string[]): unknown {
  if (Array.isArray(value)) return value.map((entry) => hide(entry, path))
  if (typeof value === "object" && value !== null) {
    // A rule set has its own fields and holds API keys only as hashes.
    if (path.join(".") === "rules.inline") return value
    return Object.fromEntries(
      Object.entries(value).map(([name, inner]) => [name, hide(inner, [...path, name])]),
    )
  }
  if (typeof value === "string" && isSecret(path.slice(-1))) return HIDDEN
  if (typeof value !== "string") return value
  return path.at(-1) === "url" ? redactUrl(value) : withoutLogin(value)
}
