import { printable } from "./printable.js"
import type { Style } from "./style.js"
import { durationText } from "./words.js"

/** A decision as the service writes it. */
export interface ShownDecision {
  readonly allowed: boolean
  readonly limit: number | null
  readonly remaining: number | null
  readonly retryAfterMs: number | "never"
  readonly delayMs: number
  readonly reason: string
  readonly rule?: string
  readonly limitName?: string
  readonly degraded?: string
  readonly shadowDenied?: readonly string[]
}

const REASONS: Readonly<Record<string, string>> = {
  "no-rule": "no rule applies",
  "allow-list": "on the allow list",
  "deny-list": "on the deny list",
  block: "the key is blocked",
  "missing-key": "it lacks what the rule counts by",
  "ambiguous-key": "it says in more than one way whom it counts for",
  "bad-path": "its path can be read in more than one way",
}

/** `denied by login (5/15m): 0 of 5 left, again in 14m 3s` */
export function decisionText(decision: ShownDecision, style: Style): string {
  const { allowed, limit, remaining, retryAfterMs, delayMs, reason, rule, limitName, degraded } = decision
  const by = rule === undefined ? "" : ` by ${rule}${limitName === undefined ? "" : ` (${limitName})`}`
  const parts = [
    ...(REASONS[reason] === undefined ? [] : [REASONS[reason]]),
    ...(limit === null || remaining === null ? [] : [`${remaining} of ${limit} left`]),
    ...(allowed ? [] : [retryAfterMs === "never" ? "never again" : `again in ${durationText(retryAfterMs)}`]),
    ...(delayMs > 0 ? [`after a wait of ${durationText(delayMs)}`] : []),
    ...(decision.shadowDenied ?? []).map((id) => `rule ${id}, in shadow, would deny it`),
    ...(degraded === undefined ? [] : [`degraded (${degraded}): the store did not answer`]),
  ]
  const verdict = allowed ? style.green("allowed") : style.red("denied")
  return joined(`${verdict}${printable(by)}`, parts.map(printable))
}

function joined(start: string, parts: readonly string[]): string {
  return parts.length === 0 ? start : `${start}: ${parts.join(", ")}`
}
