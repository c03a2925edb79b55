import { checkKey } from "../../call-options.js"
import type { Clock } from "../../clock.js"
import { SluiceError } from "../../errors.js"
import { checkClock, checkStore } from "../../limiter/limiter-options.js"
import { isThenable } from "../../notify.js"
import { checkFields, checkFunction, checkType, isFilledText } from "../../options.js"
import type { Store } from "../../stores/store.js"
import { isSecret } from "../identity/api-key.js"
import { identified } from "../identity/client.js"
import type { RuleRequest } from "../identity/rule-request.js"
import type { GuardRails } from "../language/guard-rails.js"
import type { RuleSetDocument } from "../language/schema.js"
import type { RuleDecision } from "./rule-decision.js"
import type { RuleSource } from "./rule-source.js"

export interface RuleEngineOptions {
  /** A rule set as an object or as YAML or JSON text, or a source that follows changes: `fileRules`, `redisRules`. */
  rules: RuleSetDocument | string | RuleSource
  /** Where counters are kept. Default: a new memory store. */
  store?: Store
  /** The source of time. Default: the clock of the store. */
  clock?: Clock
  /** The key of the hashes of API keys. Instances that share a store need the same one. */
  secret?: string | Uint8Array
  /** Keeps the counters of engines that share a store apart. Default: `"sluice"`. */
  prefix?: string
  /** Finds the tier of a request. It has precedence over lists and headers. */
  tierOf?: (request: RuleRequest) => string | undefined | Promise<string | undefined>
  /** Bounds on rules given as an object or text. A source has its own. */
  guardRails?: GuardRails
  /** Called with every decision. */
  onDecision?: (event: DecisionEvent) => void
  /** Called when this engine cannot use a new revision and keeps the previous one. Default: a process warning. */
  onRefused?: (error: SluiceError) => void
}

export interface DecisionEvent {
  readonly decision: RuleDecision
  /** Undefined for a check of a key by name. */
  readonly request?: RuleRequest | undefined
}

export interface RuleCheckOptions {
  /** The cost in whole units, instead of what the rules define. A check of cost 0 charges nothing. */
  cost?: number
  /** The time of the request in milliseconds since 1970. Default: the store's clock. */
  at?: number
}

export interface KeyCheckOptions extends RuleCheckOptions {
  tier?: string
}

/** What `checkRateLimit` is told besides the client: a description of the request. */
export interface RuleContext extends Omit<RuleRequest, "client"> {
  /** Checks only this rule, whether or not the request matches it. */
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

/** The fields of a `RuleContext`. */
const CONTEXT_FIELDS: readonly (keyof RuleContext)[] = [
  "rule",
  "cost",
  "method",
  "host",
  "path",
  "dotSegments",
  "headers",
  "rawHeaders",
  "ip",
  "user",
  "apiKey",
  "tier",
  "domain",
  "descriptors",
  "route",
]
/** One word that ends like the name of a file: no text of rules is that short. */
const FILE_NAME = /^\S+\.(ya?ml|json)$/i
/** In milliseconds these are days in 1970 to 1973; in seconds, every time from 2001 to the year 5138. */
const SECONDS = { from: 1e9, to: 1e11 }

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
  checkStore(options.store, "createRuleEngine.store")
  checkClock(options.clock, "createRuleEngine.clock")
  checkType(options.prefix, "createRuleEngine.prefix", "a string that is not empty", isFilledText)
  checkType(options.secret, "createRuleEngine.secret", "text or bytes, not empty", isSecret)
  for (const hook of ["tierOf", "onDecision", "onRefused"] as const)
    checkFunction(options[hook], `createRuleEngine.${hook}`)
  if (options.rules === undefined) {
    throw new SluiceError("OPTION_MISSING", { place: "createRuleEngine.rules", expected: "is required" })
  }
  const hint = rulesHint(options.rules)
  if (hint === undefined) return
  throw new SluiceError("OPTION_TYPE", {
    place: "createRuleEngine.rules",
    expected: `must be a rule set as an object, its text, or a source${hint}`,
    found: options.rules,
  })
}

/** What to write instead of a value that cannot be rules; undefined for a value that may be. */
function rulesHint(rules: unknown): string | undefined {
  if (typeof rules === "string")
    return FILE_NAME.test(rules) ? `: for a file write await fileRules(path)` : undefined
  if (isThenable(rules)) return ": await the promise, as in await fileRules(path)"
  return typeof rules === "object" && rules !== null ? undefined : ""
}

/** What `checkRateLimit` asks: about a request, or about one `rule`. Checks the names of the fields; the engine checks the values. */
export function rateLimitQuestion(
  clientIdentifier: string,
  ruleContext: RuleContext,
  timestamp: number | undefined,
): { rule: string | undefined; request: RuleRequest; options: KeyCheckOptions } {
  checkKey(clientIdentifier)
  checkRuleContext(ruleContext, timestamp)
  const { rule, cost, ...context } = ruleContext
  const request = { ...context, ...identified(clientIdentifier) }
  const options = {
    ...(cost === undefined ? {} : { cost }),
    ...(timestamp === undefined ? {} : { at: timestamp }),
    ...(request.tier === undefined ? {} : { tier: request.tier }),
  }
  return { rule, request, options }
}

function checkRuleContext(context: RuleContext, timestamp: unknown): void {
  checkFields(context, CONTEXT_FIELDS, "ruleContext")
  if (typeof timestamp === "number" && timestamp >= SECONDS.from && timestamp < SECONDS.to) {
    throw new SluiceError("TIME_INVALID", {
      place: "timestamp",
      expected: "must be in milliseconds since 1970, and this looks like seconds: multiply it by 1000",
      found: timestamp,
    })
  }
}

export function isSource(rules: RuleEngineOptions["rules"]): rules is RuleSource {
  return typeof rules === "object" && typeof (rules as RuleSource).subscribe === "function"
}

/** Throws if rules need the option `secret`, which is not given. */
export function checkNeedsNoSecret(
  { countsApiKeys, namesApiKeys }: { readonly countsApiKeys: boolean; readonly namesApiKeys: boolean },
  isStoreInMemory: boolean,
): void {
  const missing = (expected: string) =>
    new SluiceError("SECRET_MISSING", { place: "createRuleEngine.secret", expected })
  if (countsApiKeys && !isStoreInMemory)
    throw missing("is required to count by API key in a shared store: every instance must hash them alike")
  // A random secret would give every listed API key another hash than the rules name.
  if (namesApiKeys)
    throw missing("is required where rules name API keys: it must be the one they were hashed with")
}

export function notSync(place: string, expected: string): SluiceError {
  return new SluiceError("STORE_NOT_SYNC", { place, expected })
}
