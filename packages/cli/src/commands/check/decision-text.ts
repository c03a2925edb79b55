import type { Style } from "../../terminal/terminal.js"
import { durationText, printable } from "../../terminal/text.js"

/** A decision as the service answers it. */
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
  "missing-key": "the request lacks the key of the rule",
  "ambiguous-key": "the request contains the key of the rule more than once",
  "bad-path": "the path of the request is ambiguous",
}

/** `denied by login (5/15m): 0 of 5 left, retry in 14m 3s` */
export function decisionText(decision: ShownDecision, style: Style): string {
  const { allowed, limit, remaining, retryAfterMs, delayMs, reason, rule, limitName, degraded } = decision
  const by = rule === undefined ? "" : ` by ${rule}${limitName === undefined ? "" : ` (${limitName})`}`
  const parts = [
    ...(REASONS[reason] === undefined ? [] : [REASONS[reason]]),
    ...(limit === null || remaining === null ? [] : [`${remaining} of ${limit} left`]),
    // A peek is allowed although nothing is left.
    ...(allowed
      ? retryAfterMs === "never" || retryAfterMs === 0
        ? []
        : [`the next unit in ${durationText(retryAfterMs)}`]
      : [retryAfterMs === "never" ? "never allowed" : `retry in ${durationText(retryAfterMs)}`]),
    ...(delayMs > 0 ? [`after a delay of ${durationText(delayMs)}`] : []),
    ...(decision.shadowDenied ?? []).map((id) => `rule ${id} (shadow mode) would deny it`),
    ...(degraded === undefined ? [] : [`decided without the store (${degraded})`]),
  ]
  const verdict = allowed ? style.green("allowed") : style.red("denied")
  return joined(`${verdict}${printable(by)}`, parts.map(printable))
}

function joined(start: string, parts: readonly string[]): string {
  return parts.length === 0 ? start : `${start}: ${parts.join(", ")}`
}
