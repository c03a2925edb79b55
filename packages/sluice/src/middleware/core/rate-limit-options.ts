// The options that every middleware takes, and what they mean.

import { SluiceError } from "../../errors.js"
import type { Limiter } from "../../limiter.js"
import { createLimiter } from "../../limiter.js"
import { compileLimits, type LimiterOptions } from "../../limiter-options.js"
import { checkFields, checkOneOf, checkType, hasMethods } from "../../options.js"
import { LIMIT_FIELDS } from "../../policy.js"
import { checkIpv6Subnet } from "../../request/address/cidr.js"
import type { ProxyHeader, TrustProxy } from "../../request/address/trust-proxy.js"
import type { RuleRequest } from "../../rules/engine/identity.js"
import type { AnsweredRequest } from "../../rules/engine/response-cost.js"
import type { RuleDecision } from "../../rules/engine/rule-decision.js"
import type { Degraded } from "../../stores/store.js"
import { HEADER_STYLES, type HeaderStyle } from "../headers/headers.js"
import type { RequestDecision } from "./passage.js"
import type { KeyBy } from "./request-key.js"
import { warnOfSharedCounters } from "./shared-counters.js"

/** What a middleware asks of a rule engine; the one of `sluice/rules` is one. */
export interface RequestRules {
  readonly isSync: boolean
  check(request: RuleRequest, options?: { cost?: number }): Promise<RuleDecision>
  checkSync(request: RuleRequest, options?: { cost?: number }): RuleDecision
  refund(decision: RuleDecision): Promise<void>
  /** Whether the answer may change what the request was charged; then `settle` is told of it. */
  mustSettle?(decision: RuleDecision): boolean
  settle?(decision: RuleDecision, answer: AnsweredRequest): Promise<void>
}

/** One decision, for metrics and logs. */
export interface DecisionEvent<Request> {
  readonly request: Request
  readonly decision: RequestDecision
  /** Undefined where a rule engine decided. */
  readonly key: string | undefined
  /** Something that should not have happened: a store that threw instead of answering. The decision is then degraded. */
  readonly error?: unknown
}

interface CommonOptions<Request> {
  /** Requests that are let through unseen. */
  skip?: (request: Request) => boolean | Promise<boolean>
  /** Units that a request takes. Default: 1, or what the rules say. */
  cost?: number | ((request: Request) => number | Promise<number>)
  /** Who was verified, for `keyBy: "user"` and for rules. */
  user?: (request: Request) => string | undefined
  /** A request that fails does not count: it is given back when it was answered 400 or more, or not at all. */
  skipFailedRequests?: boolean
  /** A request that succeeds does not count: it is given back when it was answered less than 400. */
  skipSuccessfulRequests?: boolean
  /** What success means for these two. Default: a status below 400. */
  requestWasSuccessful?: (request: Request, status: number) => boolean
  /** Default: `"both"`, or what the rule says. */
  headers?: HeaderStyle
  /** The status of a denial. Default: 429. */
  status?: number
  /** The body of a denial: text, or an object for JSON. Default: `application/problem+json`. */
  body?: DeniedBody | ((request: Request, decision: RequestDecision) => DeniedBody)
  /** The type of `body`. Default: by what it is. */
  contentType?: string
  /** Requests held at once by a queueing leaky bucket; more are denied. Default: 1,000. */
  maxHeld?: number
  /** Told of every decision. */
  onDecision?: (event: DecisionEvent<Request>) => void
  /** Which proxies are believed. Default: what the framework's own setting says, else none. */
  trustProxy?: TrustProxy
  /** The header they write. Default: `"x-forwarded-for"`. */
  proxyHeader?: ProxyHeader
}

export type DeniedBody = string | Readonly<Record<string, unknown>>

interface KeyOptions<Request> {
  /** Who is counted. Undefined: see `onMissingKey`. */
  key?: (request: Request) => string | undefined | Promise<string | undefined>
  /** The same in words, or a list of them. Default: `"ip"`. */
  keyBy?: KeyBy | readonly KeyBy[]
  /** A request without a key is counted by its address, or not at all. Default: `"ip"`. */
  onMissingKey?: "ip" | "skip"
  /** The first bits of an IPv6 address that make a client. Default: 64. */
  ipv6Subnet?: number
}

interface GivenLimiter {
  /** A limiter made elsewhere, to share it or to reset its keys. */
  limiter: Limiter
  /** What happens if its store throws instead of answering. Default: `"local"`, which here can only allow. */
  onStoreFailure?: Degraded
}

interface GivenEngine<Request> {
  /** A rule engine of `sluice/rules`. */
  engine: RequestRules
  /** The tier of whoever asks, if the application knows it. */
  tier?: (request: Request) => string | undefined
}

/** Numbers, several limits, a limiter, or a rule engine; and how requests are counted by it. */
export type RateLimitOptions<Request> = CommonOptions<Request> &
  ((KeyOptions<Request> & (LimiterOptions | GivenLimiter)) | GivenEngine<Request>)

/** Every option at once, to be read after it was checked. */
export type AnyRateLimitOptions<Request> = CommonOptions<Request> &
  KeyOptions<Request> &
  Partial<GivenLimiter> &
  Partial<GivenEngine<Request>> &
  Partial<Pick<LimiterOptions, "clock" | "store">>

const LIMITER_FIELDS = [...LIMIT_FIELDS, "limits", "store", "clock", "prefix", "onStoreFailure"] as const
const KEY_FIELDS = ["key", "keyBy", "onMissingKey", "ipv6Subnet"] as const
const FUNCTIONS = ["skip", "user", "requestWasSuccessful", "onDecision", "key", "tier"] as const
const FLAGS = ["skipFailedRequests", "skipSuccessfulRequests"] as const
const OTHERS = [
  "cost",
  "headers",
  "status",
  "body",
  "contentType",
  "maxHeld",
  "trustProxy",
  "proxyHeader",
  "limiter",
  "engine",
] as const

/** The names of all options, for adapters that have to tell theirs from these. */
export const RATE_LIMIT_FIELDS: readonly string[] = [
  ...new Set([...LIMITER_FIELDS, ...KEY_FIELDS, ...FUNCTIONS, ...FLAGS, ...OTHERS]),
]

/** `adapterFields`: what the adapter takes besides, and has checked itself. */
export function checkRateLimitOptions<Request>(
  options: RateLimitOptions<Request>,
  adapterFields: readonly string[],
): AnyRateLimitOptions<Request> {
  checkFields(options, [...RATE_LIMIT_FIELDS, ...adapterFields], "rateLimit")
  const checked = options as AnyRateLimitOptions<Request>
  for (const name of FUNCTIONS) checkType(checked[name], place(name), "a function", isFunction)
  for (const name of FLAGS) checkType(checked[name], place(name), "true or false", isBoolean)
  checkType(checked.engine, place("engine"), "a rule engine", hasMethods("check", "checkSync", "refund"))
  checkType(checked.limiter, place("limiter"), "a limiter", hasMethods("check", "checkSync", "refund"))
  checkType(checked.cost, place("cost"), "an integer ≥ 0 or a function", (cost) => {
    return isFunction(cost) || (Number.isSafeInteger(cost) && (cost as number) >= 0)
  })
  checkOneOf(checked.headers, HEADER_STYLES, place("headers"))
  checkOneOf(checked.onMissingKey, ["ip", "skip"], place("onMissingKey"))
  checkOneOf(checked.onStoreFailure, ["local", "allow", "deny"], place("onStoreFailure"))
  checkType(checked.status, place("status"), "a status from 400 to 599", (status) => {
    return Number.isInteger(status) && (status as number) >= 400 && (status as number) <= 599
  })
  checkType(checked.body, place("body"), "a text, an object or a function", (body) => {
    return typeof body === "string" || isFunction(body) || (typeof body === "object" && body !== null)
  })
  checkType(checked.contentType, place("contentType"), "a media type", (type) => {
    return typeof type === "string" && /^[\x20-\x7e]+$/.test(type)
  })
  checkType(checked.maxHeld, place("maxHeld"), "an integer ≥ 0", (most) => {
    return Number.isSafeInteger(most) && (most as number) >= 0
  })
  checkIpv6Subnet(checked.ipv6Subnet, place("ipv6Subnet"))
  checkConflicts(checked as Record<string, unknown>)
  return checked
}

function checkConflicts(options: Record<string, unknown>): void {
  const conflict = (name: string, expected: string): SluiceError =>
    new SluiceError("OPTION_CONFLICT", { place: place(name), expected })
  const given = (names: readonly string[]): string | undefined =>
    names.find((name) => options[name] !== undefined)
  if (options.engine !== undefined) {
    const extra = given([...LIMITER_FIELDS, ...KEY_FIELDS, "limiter"])
    if (extra !== undefined) throw conflict(extra, "belongs in the rules when there is an engine")
  } else if (options.tier !== undefined) throw conflict("tier", "needs an engine")
  if (options.limiter !== undefined) {
    const extra = given(LIMITER_FIELDS.filter((name) => name !== "onStoreFailure"))
    if (extra !== undefined) throw conflict(extra, "belongs to createLimiter when there is a limiter")
  }
  if (given(["key"]) !== undefined && given(["keyBy"]) !== undefined) {
    throw conflict("keyBy", "says the same as key; give one of them")
  }
  if (options.proxyHeader !== undefined && options.trustProxy === undefined) {
    throw conflict("proxyHeader", "needs trustProxy")
  }
}

/** The limiter that was given, or one for the numbers. */
export function limiterOf<Request>(options: AnyRateLimitOptions<Request>): Limiter {
  if (options.limiter !== undefined) return options.limiter
  const all = options as Record<string, unknown>
  const own = Object.fromEntries(
    LIMITER_FIELDS.filter((name) => all[name] !== undefined).map((name) => [name, all[name]]),
  )
  try {
    const limiter = createLimiter(own as unknown as LimiterOptions)
    if (options.store !== undefined && options.key === undefined) {
      const { limits } = compileLimits(own as unknown as LimiterOptions)
      warnOfSharedCounters(options.store, limits, String(options.keyBy ?? "ip"))
    }
    return limiter
  } catch (error) {
    if (!(error instanceof SluiceError)) throw error
    const { code, expected, found } = error
    const where = error.place.replace("createLimiter", "rateLimit")
    throw new SluiceError(
      code,
      found === undefined ? { place: where, expected } : { place: where, expected, found },
    )
  }
}

function place(name: string): string {
  return `rateLimit.${name}`
}

function isFunction(value: unknown): boolean {
  return typeof value === "function"
}

function isBoolean(value: unknown): boolean {
  return typeof value === "boolean"
}
