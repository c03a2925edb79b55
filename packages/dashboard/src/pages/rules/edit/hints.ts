// Suggestions for the YAML editor that the schema does not list.

import type { RuleSetDocument } from "sluice/rules"
import type { Hints } from "../../../yaml-editor/completion.js"

const KEYS = [
  "ip",
  "user",
  "apiKey",
  "route",
  "method",
  "host",
  "global",
  "header:",
  "query:",
  "cookie:",
  "param:",
]
const METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"]
const WINDOWS = ["1s", "10s", "1m", "15m", "1h", "1d"]
const TIME_ZONES = ["UTC", ...Intl.supportedValuesOf("timeZone")]

/** Hints for the editor of a rule or of a rule set. */
export function hintsFor(document: RuleSetDocument): Hints {
  const rules = document.rules.map(({ id }) => id)
  const tiers = [
    ...new Set([
      ...Object.keys(document.tiers ?? {}),
      ...document.rules.flatMap((rule) => Object.keys(rule.tiers ?? {})),
    ]),
  ]
  const known: Readonly<Record<string, readonly string[]>> = {
    keyBy: KEYS,
    method: METHODS,
    window: WINDOWS,
    timeZone: TIME_ZONES,
    within: WINDOWS,
    block: WINDOWS,
    forget: WINDOWS,
    replaces: rules,
    rule: rules,
    tier: tiers,
  }
  return (path) => {
    const name = path.findLast((step) => typeof step === "string")
    return typeof name === "string" && Object.hasOwn(known, name) ? (known[name] ?? []) : []
  }
}
