// What all protocols of the service share: the engine that decides, its rules, its store, and the observers of decisions.

import type { Store } from "sluice"
import type {
  EditableRuleSource,
  KeyCheckOptions,
  RuleCheckOptions,
  RuleDecision,
  RuleEngine,
  RuleRequest,
} from "sluice/rules"

export type Protocol = "http" | "auth" | "grpc" | "json" | "resp" | "gateway"

/** A decision as observers see it. */
export interface Decided {
  readonly decision: RuleDecision
  readonly protocol: Protocol
  readonly request?: RuleRequest | undefined
  /** How long the decision took, in milliseconds. */
  readonly durationMs: number
  /** The cost that the caller asked for, if any. 0 is a peek. */
  readonly cost?: number | undefined
}

/** Decisions without a rule, summed up: a CL.THROTTLE command carries its own limit, and a million may come in a second. */
export interface Counted {
  readonly protocol: Protocol
  readonly allowed: number
  readonly denied: number
  /** How many of both were made without the store. */
  readonly degraded: number
}

/** Observes decisions: metrics, live events, the most denied keys. Every decision waits for it. */
export interface Watch {
  /** The caller may reuse the event and its decision afterwards: copy what you keep. */
  decided(event: Decided): void
  /** Called about once a second. */
  counted?(event: Counted): void
  /** A reservation was made. */
  reserved?(): void
  /** Somebody has tried to settle a reservation. */
  settled?(result: SettlementResult): void
}

/** What became of a call to settle a reservation. `repeated`: it had been settled before. `failed`: the store did not answer. */
export type SettlementResult = "settled" | "repeated" | "expired" | "unknown" | "failed"

export interface Core {
  readonly engine: RuleEngine
  readonly rules: EditableRuleSource
  readonly store: Store
  readonly watch: Watch
  /** Writes the decision log. */
  readonly record?: (event: Decided) => void
}

/**
 * Decides a request and notifies the observers. Returns a promise only if it must wait for the store. `admit` may replace
 * the decision of the rules.
 */
export function ask(
  core: Core,
  protocol: Protocol,
  request: RuleRequest,
  options?: RuleCheckOptions,
  admit: (decision: RuleDecision) => RuleDecision = unchanged,
): RuleDecision | Promise<RuleDecision> {
  const started = performance.now()
  const cost = options?.cost
  const decision = core.engine.checkEither(request, options)
  return decision instanceof Promise
    ? decision.then((made) => notified(core, admit(made), protocol, request, cost, started))
    : notified(core, admit(decision), protocol, request, cost, started)
}

function unchanged(decision: RuleDecision): RuleDecision {
  return decision
}

/** Decides one rule for a key, both by name, and notifies the observers. */
export function askKey(
  core: Core,
  protocol: Protocol,
  rule: string,
  key: string,
  options?: KeyCheckOptions,
): RuleDecision | Promise<RuleDecision> {
  const started = performance.now()
  const cost = options?.cost
  const decision = core.engine.checkKeyEither(rule, key, options)
  return decision instanceof Promise
    ? decision.then((made) => notified(core, made, protocol, undefined, cost, started))
    : notified(core, decision, protocol, undefined, cost, started)
}

/** Notifies the observers of a decision, and returns it. */
export function notified(
  { watch, record }: Core,
  decision: RuleDecision,
  protocol: Protocol,
  request: RuleRequest | undefined,
  cost: number | undefined,
  started: number,
): RuleDecision {
  const event = { decision, protocol, request, durationMs: performance.now() - started, cost }
  record?.(event)
  watch.decided(event)
  return decision
}
