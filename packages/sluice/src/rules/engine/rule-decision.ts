import type { Decision, LimitDecision } from "../../decision.js"
import type { HeaderPolicy, HeaderStyle } from "../../header-style.js"
import type { ResponseSpec } from "../language/schema.js"

export type Mode = "enforce" | "shadow" | "off"

/** Why a decision came out as it did. */
export type Reason =
  /** No rule matched, or those that did had nothing to say. */
  | "no-rule"
  /** Every limit that applies has room. */
  | "within-limits"
  | "limit"
  | "block"
  | "allow-list"
  | "deny-list"
  /** A rule with `onMissingKey: deny` found no key. */
  | "missing-key"
  /** What a rule counts by is there more than once, or can be read in more than one way: `ambiguous` says what. */
  | "ambiguous-key"
  /** The path cannot be brought into one form, so nobody knows which rules it meets. */
  | "bad-path"

/** One limit of a rule, with what its decision says and what it is. */
export interface RuleLimit extends LimitDecision {
  /** The window in milliseconds. */
  readonly windowMs: number
}

/** What one rule says of a request. */
export interface RuleOutcome {
  readonly rule: string
  readonly mode: "enforce" | "shadow"
  /** The candidate of a rule that enforces other limits. */
  readonly candidate?: true
  /** Which of the request's descriptors met the rule. */
  readonly descriptor?: number | undefined
  readonly allowed: boolean
  readonly key: string
  readonly tier?: string | undefined
  readonly limits: readonly RuleLimit[]
}

/** What a rule engine decided. Numbers are those of the most constraining limit; Infinity when nothing limits. */
export interface RuleDecision extends Decision {
  readonly reason: Reason
  /** The rule whose numbers these are, or which denied. */
  readonly rule?: string | undefined
  /** The name of its limit. */
  readonly limitName?: string | undefined
  readonly mode: Mode
  readonly tier?: string | undefined
  /** The revision of the rule set that decided. */
  readonly revision: number
  /** Every rule that was asked, in the order of the set; shadows too. */
  readonly rules: readonly RuleOutcome[]
  /** Rules in shadow, and candidates, that would have denied. */
  readonly shadowDenied: readonly string[]
  readonly headers: HeaderStyle
  /** The limits as headers describe them, one for each of `limits` in their order. */
  readonly policies: readonly HeaderPolicy[]
  /** What the denying rule wants answered. */
  readonly response?: ResponseSpec | undefined
}
