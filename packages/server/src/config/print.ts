// What the service prints about its configuration: --help, --print-config, and which values it never prints.

import { redactUrl } from "sluice/redis"
import { stringify } from "yaml"
import { fields } from "./fields.js"
import type { Config } from "./schema.js"

/** One line per setting with its default, from the schema. */
export function settingLines(): string[] {
  return fields().map(({ flag, kind, description = "", byDefault }) => {
    const shown = byDefault === undefined ? "" : ` [${JSON.stringify(byDefault)}]`
    return `  ${`${flag} <${kind}>`.padEnd(34)} ${description}${shown}`.trimEnd()
  })
}

/** The text of `--help`. */
export function helpText(): string {
  return `Sluice: a rate limiter that answers over HTTP, gRPC and the Redis protocol.

  --config <file>                    The configuration file. Default: sluice.config.yaml, if it exists.
  --print-config                     Prints the configuration without secrets, and exits.
  --help, --version

The word gateway as the first argument starts only the reverse proxy:

  gateway --upstream http://localhost:3000 --rules rules.yaml

--upstream is short for --gateway.upstream, --rules for --rules.file.

Each setting can be a flag, an environment variable or a line of the configuration file. Flags override variables, which
override the file. The variable of --http.port is SLUICE_HTTP__PORT. SLUICE_HTTP__PORT_FILE names a file that holds the value.

${settingLines().join("\n")}
`
}

const SECRETS: readonly string[] = ["secret", "password", "token", "tokens", "hash"]

/** Whether a setting, or a map that contains it, must never be shown. */
export function isSecret(path: readonly PropertyKey[]): boolean {
  return path.some((part) => SECRETS.includes(String(part)))
}

/** Removes the user and password from an address, so that it can be shown. */
export function withoutLogin(text: string): string {
  return /^[a-z+]*:\/\/.*@/is.test(text) ? redactUrl(text) : text
}

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
