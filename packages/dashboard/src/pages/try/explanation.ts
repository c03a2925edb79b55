/** The answer of `POST /explain`. JSON has no infinity: a missing limit is null, and an infinite wait is "never". */
export interface Explanation {
  readonly revision: number
  /** The request as the rules see it. `badPath` names why the path was refused. */
  readonly request: Readonly<Record<string, string | undefined>>
  readonly rules: readonly RuleExplanation[]
  readonly decision: {
    readonly allowed: boolean
    readonly reason: Reason
    readonly limit: number | null
    readonly remaining: number | null
    readonly retryAfterMs: Wait
    readonly rule?: string
    readonly limitName?: string
    readonly shadowDenied?: readonly string[]
    readonly degraded?: string
    /** What the request has more than once, or in a form that can be read in several ways. */
    readonly ambiguous?: string
  }
  readonly response: {
    readonly status: number
    readonly headers: readonly (readonly [name: string, value: string])[]
    readonly body?: string
  }
}

export type Wait = number | "never"

export type Reason =
  | "no-rule"
  | "within-limits"
  | "limit"
  | "block"
  | "allow-list"
  | "deny-list"
  | "missing-key"
  | "ambiguous-key"
  | "bad-path"

export interface RuleExplanation {
  readonly rule: string
  readonly mode: "enforce" | "shadow" | "off"
  readonly matched: boolean
  readonly applies: boolean
  readonly because: string
  readonly key?: string
  readonly cost?: number
  readonly limitsFrom?: "rule" | "tier" | "override"
  readonly limits?: readonly LimitState[]
  /** The names of its limits of concurrency, whose waits are the longest possible ones. */
  readonly concurrent?: readonly string[]
  readonly leases?: readonly string[]
  readonly candidate?: readonly LimitState[]
}

export interface LimitState {
  readonly name: string
  readonly allowed: boolean
  readonly limit: number | null
  readonly remaining: number | null
  readonly retryAfterMs: Wait
  readonly resetAfterMs: Wait
}
