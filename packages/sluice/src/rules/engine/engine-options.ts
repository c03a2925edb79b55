import type { Clock } from "../../clock.js"
import { SluiceError } from "../../errors.js"
import { isStore } from "../../limiter-options.js"
import { checkFields, checkType, hasMethods } from "../../options.js"
import type { Store } from "../../stores/store.js"
import type { GuardRails } from "../language/guard-rails.js"
import type { RuleSetDocument } from "../language/schema.js"
import type { RuleDecision } from "./rule-decision.js"
import type { RuleRequest } from "./rule-request.js"
import type { RuleSource } from "./rule-source.js"

export interface RuleEngineOptions {
  /** A rule set as an object or as YAML or JSON text, or a source that follows changes: `fileRules`, `redisRules`. */
  rules: RuleSetDocument | string | RuleSource
  /** Where counters live. Default: a memory store of the engine's own. */
  store?: Store
  /** Where time comes from. Default: the store's own clock. */
  clock?: Clock
  /** Keys the hashes of API keys. Every instance that shares a store needs the same one. */
  secret?: string | Uint8Array
  /** Keeps the counters of engines that share a store apart. Default: `"sluice"`. */
  prefix?: string
  /** The tier of a request, from wherever the application keeps it. Comes before lists and headers. */
  tierOf?: (request: RuleRequest) => string | undefined | Promise<string | undefined>
  /** Bounds on rules given as an object or text. A source has its own. */
  guardRails?: GuardRails
  /** Told of every decision. */
  onDecision?: (event: DecisionEvent) => void
  /** Told of a new revision that this engine cannot run; it goes on with the one before. Default: a process warning. */
  onRefused?: (error: SluiceError) => void
}

export interface DecisionEvent {
  readonly decision: RuleDecision
  /** Not there when a key was checked by name. */
  readonly request?: RuleRequest | undefined
}

export interface RuleCheckOptions {
  /** Whole units, in place of what the rules say. With 0 the check only looks. */
  cost?: number
  /** The time of the request in milliseconds since 1970. Default: the store's clock. */
  at?: number
}

export interface KeyCheckOptions extends RuleCheckOptions {
  tier?: string
}

/** What `checkRateLimit` may be told besides who asks. */
export interface RuleContext extends Omit<RuleRequest, "client"> {
  /** Checks this rule alone, whatever the request is. */
  readonly rule?: string
  readonly cost?: number
}

export interface RateLimitResult {
  readonly allowed: boolean
  readonly limit: number
  readonly remaining: number
  /** Milliseconds since 1970. */
  readonly resetTime: number
}

const FIELDS = [
  "rules",
  "store",
  "clock",
  "secret",
  "prefix",
  "tierOf",
  "guardRails",
  "onDecision",
  "onRefused",
]

export function checkEngineOptions(options: RuleEngineOptions): void {
  checkFields(options, FIELDS, "createRuleEngine")
  checkType(options.store, "createRuleEngine.store", "a store", isStore)
  checkType(options.clock, "createRuleEngine.clock", "a clock with now()", hasMethods("now"))
  checkType(options.prefix, "createRuleEngine.prefix", "a string that is not empty", isFilled)
  checkType(options.secret, "createRuleEngine.secret", "text or bytes, not empty", isSecret)
  for (const hook of ["tierOf", "onDecision", "onRefused"] as const)
    checkType(options[hook], `createRuleEngine.${hook}`, "a function", (value) => typeof value === "function")
  if (options.rules === undefined) {
    throw new SluiceError("OPTION_MISSING", { place: "createRuleEngine.rules", expected: "is required" })
  }
}

function isFilled(value: unknown): boolean {
  return typeof value === "string" && value !== ""
}

function isSecret(value: unknown): boolean {
  return isFilled(value) || (value instanceof Uint8Array && value.length > 0)
}

export function isSource(rules: RuleEngineOptions["rules"]): rules is RuleSource {
  return typeof rules === "object" && typeof (rules as RuleSource).subscribe === "function"
}
