// The options that every middleware takes.

import type { Decision } from "../../decision.js"
import { formatDuration } from "../../duration.js"
import { Mistakes, relocate, SluiceError } from "../../errors.js"
import { HEADER_STYLES, type HeaderStyle } from "../../header-style.js"
import { createLimiter, type Limiter } from "../../limiter/limiter.js"
import { checkLogger, type LimiterOptions } from "../../limiter/limiter-options.js"
import { register } from "../../limiter/unnamed-limiters.js"
import type { Logger } from "../../notify.js"
import {
  checkFields,
  checkFunction,
  checkObject,
  checkOneOf,
  checkType,
  hasMethods,
  isFilledText,
  isFunction,
} from "../../options.js"
import { LIMIT_FIELDS } from "../../policy.js"
import { checkIpv6Subnet } from "../../request/address/ip-key.js"
import type { ProxyHeader, TrustProxy } from "../../request/address/trust-proxy.js"
import type { AnsweredRequest } from "../../rules/engine/response-charge.js"
import type { RuleDecision } from "../../rules/engine/rule-decision.js"
import type { RuleRequest } from "../../rules/identity/rule-request.js"
import type { Degraded, Store } from "../../stores/store.js"
import type { ResponseReader } from "../../usage/response-reader.js"
import { checkCustomHeaders, type ExtraHeaders, type HeaderNames } from "../headers/custom-headers.js"
import { RETRY_AFTER_FORMS, type RetryAfterForm } from "../headers/headers.js"
import type { KeyBy } from "./request-key.js"

/** The decision about a request. One by a rule engine also says which rule decided, and why. */
export type RequestDecision = Decision | RuleDecision

/** What a middleware needs of a rule engine. The one of `sluice/rules` has it. */
export interface RequestRules {
  /** Returns a promise only if it must wait for the store. */
  checkEither(request: RuleRequest, options?: { cost?: number }): RuleDecision | Promise<RuleDecision>
  refund(decision: RuleDecision): Promise<void>
  /** Whether the response may change what the request was charged. If so, `settle` is called with it. */
  mustSettle?(decision: RuleDecision): boolean
  settle?(decision: RuleDecision, answer: AnsweredRequest): Promise<void>
  /** A reader for the body of the response, if the rules charge by it. `settle` receives what it has found. */
  responseReader?(decision: RuleDecision, contentType: string | undefined): ResponseReader | undefined
  /** What the request holds, if anything. */
  holdOf?(decision: RuleDecision): { readonly holdMs: number } | undefined
  /** Ends what the request holds. */
  release?(decision: RuleDecision): Promise<unknown>
  /** Ends what the request does not hold for the life of an upgraded connection. */
  releaseAtUpgrade?(decision: RuleDecision): Promise<unknown>
  extend?(decision: RuleDecision): Promise<boolean>
}

/** One decision, for metrics and logs. */
export interface DecisionEvent<Request> {
  readonly request: Request
  readonly decision: RequestDecision
  /** Undefined when a rule engine decided. */
  readonly key: string | undefined
  /** The error of a store that threw. The decision is then degraded. */
  readonly error?: unknown
}

interface CommonOptions<Request> {
  /** Returns true for requests that are not limited. */
  skip?: (request: Request) => boolean | Promise<boolean>
  /** Units that a request costs. Default: 1, or what the rules say. */
  cost?: number | ((request: Request) => number | Promise<number>)
  /** Returns the authenticated user, for `keyBy: "user"` and for rules. */
  user?: (request: Request) => string | undefined | Promise<string | undefined>
  /** Requests that fail do not count: the charge is refunded on a status of 400 or more, or without a response. */
  skipFailedRequests?: boolean
  /** Requests that succeed do not count: the charge is refunded on a status below 400. */
  skipSuccessfulRequests?: boolean
  /** What these two options call a success. Default: a status below 400. */
  requestWasSuccessful?: (request: Request, status: number) => boolean | Promise<boolean>
  /** The style of the rate limit headers. Default: `"both"`, or what the rule says. */
  headers?: HeaderStyle
  /** Other names for these headers, such as `{ "x-ratelimit-limit": "x-acme-limit" }`. `false` leaves a header out. */
  headerNames?: HeaderNames
  /**
   * Headers of your own on every response that the middleware has decided about. Each has a constant value, or a function of
   * request and decision that returns one, or undefined for none. It replaces a rate limit header of the same name.
   */
  extraHeaders?: ExtraHeaders<Request, RequestDecision>
  /** Whether `retry-after` gives seconds or an HTTP date. Default: `"seconds"`. */
  retryAfter?: RetryAfterForm
  /** The property of the request that the decision is put into (koa: of `ctx.state`; hono: the variable). Default: `"rateLimit"`. */
  requestProperty?: string
  /** The status of a denial. Default: 429. */
  status?: number
  /** The body of a denial: a text, or an object for JSON. Default: a problem in `application/problem+json`. */
  body?: DeniedBody | ((request: Request, decision: RequestDecision) => DeniedBody | Promise<DeniedBody>)
  /** The content type of `body`. Default: plain text for a text, JSON for an object. */
  contentType?: string
  /** How many requests a queueing leaky bucket may hold at once; more are denied. Default: 1,000. */
  maxHeld?: number
  /** Receives the warnings of the middleware, like `console`. Default: process warnings. */
  logger?: Logger
  /** Called with every decision. */
  onDecision?: (event: DecisionEvent<Request>) => void
  /** The proxies whose forwarded headers are trusted. Default: the framework's own setting, else none. */
  trustProxy?: TrustProxy
  /** The header that these proxies write. Default: `"x-forwarded-for"`. */
  proxyHeader?: ProxyHeader
}

export type DeniedBody = string | Readonly<Record<string, unknown>>

interface KeyOptions<Request> {
  /** Returns the key that is counted. On undefined, see `onMissingKey`. */
  key?: (request: Request) => string | undefined | Promise<string | undefined>
  /** What the key is made of: one part or a list. Default: `"ip"`. */
  keyBy?: KeyBy | readonly KeyBy[]
  /** Whether a request without a key is counted by its address or not limited. Default: `"ip"`. */
  onMissingKey?: "ip" | "skip"
  /** How many leading bits of an IPv6 address identify a client. Default: 64. */
  ipv6Subnet?: number
}

/** Returns the limit for a request: an integer ≥ 1, or Infinity if the request is not limited. */
export type LimitOf<Request> = (request: Request) => number | Promise<number>

type OneLimit<Request> = Omit<Extract<LimiterOptions, { limits?: never }>, "limit"> & {
  /** Units per window, or a function of the request, for example by the plan of its user. */
  limit: number | LimitOf<Request>
}

type SeveralLimits = Extract<LimiterOptions, { limits: unknown }>

interface GivenLimiter {
  /** A limiter of your own, to share it or to reset its keys. */
  limiter: Limiter
  /** What happens if its store throws an error. Default: `"local"`, which here allows the request. */
  onStoreFailure?: Degraded
}

interface GivenEngine<Request> {
  /** A rule engine of `sluice/rules`. */
  engine: RequestRules
  /** Returns the client's tier, if the application knows it. */
  tier?: (request: Request) => string | undefined | Promise<string | undefined>
}

/** One limit, several limits, a limiter or a rule engine, and how requests are counted. */
export type RateLimitOptions<Request> = CommonOptions<Request> &
  ((KeyOptions<Request> & (OneLimit<Request> | SeveralLimits | GivenLimiter)) | GivenEngine<Request>)

/** All options in one type, to read them after they were checked. */
export type AnyRateLimitOptions<Request> = CommonOptions<Request> &
  KeyOptions<Request> &
  Partial<GivenLimiter> &
  Partial<GivenEngine<Request>> &
  Partial<Pick<OneLimit<Request>, "clock" | "store" | "limit">>

const LIMITER_FIELDS = [
  ...LIMIT_FIELDS,
  "limits",
  "store",
  "clock",
  "prefix",
  "onStoreFailure",
  "leases",
] as const
const KEY_FIELDS = ["key", "keyBy", "onMissingKey", "ipv6Subnet"] as const
const FUNCTIONS = ["skip", "user", "requestWasSuccessful", "onDecision", "key", "tier"] as const
const FLAGS = ["skipFailedRequests", "skipSuccessfulRequests"] as const
const OTHERS = [
  "cost",
  "headers",
  "headerNames",
  "extraHeaders",
  "retryAfter",
  "requestProperty",
  "status",
  "body",
  "contentType",
  "maxHeld",
  "logger",
  "trustProxy",
  "proxyHeader",
  "limiter",
  "engine",
] as const

/** The names of all options, for middlewares that have options of their own. */
export const RATE_LIMIT_FIELDS: readonly string[] = [
  ...new Set([...LIMITER_FIELDS, ...KEY_FIELDS, ...FUNCTIONS, ...FLAGS, ...OTHERS]),
]

/**
 * Throws one error with every mistake in the options, but those that `limiterOf` finds. `adapterFields`: functions that only the
 * framework's middleware knows.
 */
export function checkRateLimitOptions<Request>(
  options: RateLimitOptions<Request>,
  adapterFields: readonly string[],
): AnyRateLimitOptions<Request> {
  checkObject(options, "rateLimit")
  const checked = options as AnyRateLimitOptions<Request>
  const given = checked as Record<string, unknown>
  const mistakes = new Mistakes()
  const check = (name: string, expected: string, ok: (value: unknown) => boolean): void =>
    void mistakes.try(() => checkType(given[name], place(name), expected, ok))
  const checkWord = (name: string, words: readonly string[]): void =>
    void mistakes.try(() => checkOneOf(given[name], words, place(name)))

  mistakes.try(() => checkFields(options, [...RATE_LIMIT_FIELDS, ...adapterFields], "rateLimit"))
  for (const name of [...FUNCTIONS, ...adapterFields]) {
    mistakes.try(() => checkFunction(given[name], place(name)))
  }
  for (const name of FLAGS) check(name, "true or false", isBoolean)
  check("engine", "a rule engine", hasMethods("check", "checkSync", "refund"))
  check("limiter", "a limiter", hasMethods("check", "checkSync", "refund"))
  check("cost", "an integer ≥ 0 or a function", (cost) => isFunction(cost) || isCount(cost))
  checkWord("headers", HEADER_STYLES)
  mistakes.try(() => checkCustomHeaders(checked))
  checkWord("retryAfter", RETRY_AFTER_FORMS)
  check("requestProperty", "a string that is not empty", isFilledText)
  checkWord("onMissingKey", ["ip", "skip"])
  if (checked.limiter !== undefined) checkWord("onStoreFailure", ["local", "allow", "deny"])
  check("status", "a status from 400 to 599", (status) => {
    return isCount(status) && (status as number) >= 400 && (status as number) <= 599
  })
  check("body", "a string, an object or a function", (body) => {
    return typeof body === "string" || isFunction(body) || (typeof body === "object" && body !== null)
  })
  check("contentType", "a media type", (type) => typeof type === "string" && /^[\x20-\x7e]+$/.test(type))
  check("maxHeld", "an integer ≥ 0", isCount)
  mistakes.try(() => checkLogger(checked.logger, place("logger")))
  mistakes.try(() => checkIpv6Subnet(checked.ipv6Subnet, place("ipv6Subnet")))
  mistakes.try(() => checkConflicts(given))
  mistakes.throwAll()
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
    throw conflict("keyBy", "cannot be combined with key; give one of them")
  }
  if (options.proxyHeader !== undefined && options.trustProxy === undefined) {
    throw conflict("proxyHeader", "needs trustProxy")
  }
}

/** Returns the limiter of the options, or creates one from the limits in them. */
export function limiterOf<Request>(options: AnyRateLimitOptions<Request>): Limiter {
  if (options.limiter !== undefined) return options.limiter
  const all = options as Record<string, unknown>
  const own = Object.fromEntries(
    LIMITER_FIELDS.filter((name) => all[name] !== undefined).map((name) => [name, all[name]]),
  )
  if (isFunction(own.limit)) {
    // Each check gives the limit. The name, which is in headers, contains no limit then.
    const name = typeof own.window === "number" ? formatDuration(own.window) : own.window
    const isShared = options.store !== undefined && own.name === undefined && own.prefix === undefined
    if (isShared) register(options.store as Store, `a function per ${String(name)}`, options.logger)
    own.limit = 1
    own.name ??= name
  }
  try {
    return createLimiter({ ...own, logger: options.logger } as unknown as LimiterOptions)
  } catch (error) {
    if (!(error instanceof SluiceError)) throw error
    throw relocate(error, (place) => place.replace("createLimiter", "rateLimit"))
  }
}

function place(name: string): string {
  return `rateLimit.${name}`
}

function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && (value as number) >= 0
}

function isBoolean(value: unknown): boolean {
  return typeof value === "boolean"
}
