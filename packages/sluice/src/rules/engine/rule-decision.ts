import type { BegunBlock, Decision, LimitDecision } from "../../decision.js"
import type { HeaderPolicy, HeaderStyle } from "../../header-style.js"
import type { ResponseSpec } from "../language/schema.js"

export type Mode = "enforce" | "shadow" | "off"

/** Why a decision came out as it did. */
export type Reason =
  /** No rule applies to the request. */
  | "no-rule"
  /** Every limit that applies allows the request. */
  | "within-limits"
  | "limit"
  | "block"
  | "allow-list"
  | "deny-list"
  /** A rule with `onMissingKey: deny` found no key. */
  | "missing-key"
  /** The key of a rule occurs more than once in the request, or can be read in more than one way: `ambiguous` says which. */
  | "ambiguous-key"
  /** The path has no canonical form, so that it is not known which rules it matches. */
  | "bad-path"

/** What one rule decides about a request. */
export interface RuleOutcome {
  readonly rule: string
  readonly mode: "enforce" | "shadow"
  /** True for the outcome of a rule's candidate limits. */
  readonly candidate?: true
  /** The index of the descriptor that matched the rule. */
  readonly descriptor?: number | undefined
  readonly allowed: boolean
  readonly key: string
  readonly tier?: string | undefined
  readonly limits: readonly LimitDecision[]
}

/** A block that a request began under a rule. */
export interface BegunRuleBlock extends BegunBlock {
  readonly rule: string
  readonly key: string
}

/** The decision of a rule engine. Its numbers are those of the most constraining limit, or Infinity if no limit applies. */
export interface RuleDecision extends Decision {
  readonly reason: Reason
  readonly begunBlocks?: readonly BegunRuleBlock[] | undefined
  /** The rule that the numbers belong to, or that denied the request. */
  readonly rule?: string | undefined
  /** The name of its limit. */
  readonly limitName?: string | undefined
  readonly mode: Mode
  readonly tier?: string | undefined
  /** The revision of the rule set that decided. */
  readonly revision: number
  /** Every rule that decided, in the order of the set, then those in shadow mode and candidates. */
  readonly rules: readonly RuleOutcome[]
  /** The ids of rules in shadow mode, and of rules with candidates, that would have denied. */
  readonly shadowDenied: readonly string[]
  readonly headers: HeaderStyle
  /** The limits as headers describe them, in the order of `limits`. */
  readonly policies: readonly HeaderPolicy[]
  /** The response that the rule defines for denied requests. */
  readonly response?: ResponseSpec | undefined
}
