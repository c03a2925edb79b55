import { redactUrl } from "sluice/redis"
import { stringify } from "yaml"
import type { Config } from "./schema.js"
import { isSecret, withoutLogin } from "./secrets.js"

const HIDDEN = "***"

/** The configuration in force as YAML that could be a configuration file, secrets hidden. */
export function printConfig(config: Config): string {
  return stringify(hide(config, []))
}

function hide(value: unknown, path: readonly string[]): unknown {
  if (Array.isArray(value)) return value.map((entry) => hide(entry, path))
  if (typeof value === "object" && value !== null) {
    // A rule set names API keys by their hashes only, and has fields of its own.
    if (path.join(".") === "rules.inline") return value
    return Object.fromEntries(
      Object.entries(value).map(([name, inner]) => [name, hide(inner, [...path, name])]),
    )
  }
  if (typeof value === "string" && isSecret(path.slice(-1))) return HIDDEN
  if (typeof value !== "string") return value
  return path.at(-1) === "url" ? redactUrl(value) : withoutLogin(value)
}
