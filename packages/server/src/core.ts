// What every part of the service shares: the engine that decides, the rules it follows, the store it counts in, and those
// who watch it. Protocols ask it, and know nothing of each other.

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

/** A decision as those who watch are told of it. */
export interface Decided {
  readonly decision: RuleDecision
  readonly protocol: Protocol
  readonly request?: RuleRequest | undefined
  /** How long it took, in milliseconds. */
  readonly durationMs: number
  /** What the caller wanted charged, if it said so; 0 only looks. */
  readonly cost?: number | undefined
}

/** Decisions without a rule, added up: CL.THROTTLE brings its limit along, and comes a million times a second. */
export interface Counted {
  readonly protocol: Protocol
  readonly allowed: number
  readonly denied: number
  /** Those of both that were made without the store. */
  readonly degraded: number
}

/** Those who watch: metrics, live events, the most denied keys, the decision log. On the path of every decision. */
export interface Watch {
  /** The event and its decision may be written over afterwards: copy what you keep. */
  decided(event: Decided): void
  /** About once a second. */
  counted?(event: Counted): void
}

export interface Core {
  readonly engine: RuleEngine
  readonly rules: EditableRuleSource
  readonly store: Store
  readonly watch: Watch
}

/**
 * Decides a request and tells who watches. A promise only where the store needs one. `admit` has a say after the rules, and
 * returns the decision that stands.
 */
export function ask(
  core: Core,
  protocol: Protocol,
  request: RuleRequest,
  options?: RuleCheckOptions,
  admit: (decision: RuleDecision) => RuleDecision = asItIs,
): RuleDecision | Promise<RuleDecision> {
  const started = performance.now()
  const { engine } = core
  const cost = options?.cost
  if (engine.isSync)
    return told(core, admit(engine.checkSync(request, options)), protocol, request, cost, started)
  return engine
    .check(request, options)
    .then((decision) => told(core, admit(decision), protocol, request, cost, started))
}

function asItIs(decision: RuleDecision): RuleDecision {
  return decision
}

/** The same for one rule under a key by name. */
export function askKey(
  core: Core,
  protocol: Protocol,
  rule: string,
  key: string,
  options?: KeyCheckOptions,
): RuleDecision | Promise<RuleDecision> {
  const started = performance.now()
  const { engine } = core
  const cost = options?.cost
  if (engine.isSync)
    return told(core, engine.checkKeySync(rule, key, options), protocol, undefined, cost, started)
  return engine
    .checkKey(rule, key, options)
    .then((decision) => told(core, decision, protocol, undefined, cost, started))
}

function told(
  { watch }: Core,
  decision: RuleDecision,
  protocol: Protocol,
  request: RuleRequest | undefined,
  cost: number | undefined,
  started: number,
): RuleDecision {
  watch.decided({ decision, protocol, request, durationMs: performance.now() - started, cost })
  return decision
}
