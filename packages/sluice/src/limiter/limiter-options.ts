import type { Policy } from "../algorithms/algorithm.js"
import type { Clock } from "../clock.js"
import { formatDuration } from "../duration.js"
import { Mistakes, SluiceError } from "../errors.js"
import type { LeaseOptions } from "../lease-options.js"
import { isThenable, type Logger, warn } from "../notify.js"
import { checkFields, checkObject, checkOneOf, checkType, hasMethods, isFilledText } from "../options.js"
import { compilePenalty } from "../penalty-options.js"
import type { LimitOptions } from "../policy.js"
import { compilePolicy, defaultName, LIMIT_FIELDS } from "../policy.js"
import type { Degraded, Store } from "../stores/store.js"
import { DEFAULT_PREFIX } from "../stores/store.js"

interface CommonOptions {
  /** Where the counters are kept. Default: a memory store that only this limiter uses. */
  store?: Store
  /** The clock that decides. Default: that of the store. */
  clock?: Clock
  /**
   * How to decide when the store fails: count this instance's share of the limit in memory (`local`), or allow or deny everything.
   * The decision then says `degraded`. Default: `"local"`.
   */
  onStoreFailure?: Degraded
  /**
   * The first part of the names of all counters and blocks. Limiters that share a store and a prefix share a counter where the
   * `name` of a limit is the same, or where all their limits are the same and have no name. Default: `"sluice"`.
   */
  prefix?: string
  /**
   * Takes units of hot keys from a shared store in advance, and spends them without a call: nobody is ever admitted beyond the
   * limit, at the price of a slightly smaller burst or longer window. See docs/leases.md. Default: false.
   */
  leases?: LeaseOptions
  /** Receives the warnings of the limiter, like `console`. Default: process warnings. */
  logger?: Logger
}

/** Options of a limiter: one limit, or several that are checked together, all or nothing. */
export type LimiterOptions =
  | (CommonOptions & LimitOptions & { limits?: never })
  | (CommonOptions & { limits: readonly LimitOptions[] } & { [Field in keyof LimitOptions]?: never })

export interface CompiledLimit {
  readonly name: string
  /** The name of the namespace its counters live in. */
  readonly namespace: string
  readonly policy: Policy
  /** The policy of the blocks that denials of this limit begin. */
  readonly penalty: Policy | undefined
}

export interface CompiledLimits {
  readonly limits: readonly CompiledLimit[]
  readonly prefix: string
  /** What a limiter without `name` and `prefix` is known by. Another limiter with the same numbers has the same counters. */
  readonly unnamed: string | undefined
}

const COMMON_FIELDS = ["store", "clock", "prefix", "onStoreFailure", "leases", "logger"]
/** Short names of algorithms, because they are part of every key in Redis. */
const CODES = {
  "fixed-window": "fw",
  "sliding-window-log": "sl",
  "sliding-window-counter": "sc",
  "token-bucket": "tb",
  "leaky-bucket": "lb",
  gcra: "gcra",
  concurrency: "cc",
  block: "block",
} as const
/** A client of ioredis or node-redis. */
const isClient = hasMethods("connect", "once")
export const isStore = hasMethods(
  "check",
  "decide",
  "checkMany",
  "charge",
  "refund",
  "reset",
  "mayBlock",
  "close",
)

/** Throws if the value is defined and no store. Names the fix of what people pass instead. */
export function checkStore(store: unknown, place: string): void {
  if (store === undefined || isStore(store)) return
  const expected = `must be a store${storeHint(store)}`
  // A URL is not shown, because it may contain a password.
  const isUrl = typeof store === "string" && store.includes("//")
  throw new SluiceError("OPTION_TYPE", isUrl ? { place, expected } : { place, expected, found: store })
}

function storeHint(store: unknown): string {
  if (typeof store === "function") return ": call the function, as in memoryStore()"
  if (typeof store === "string") return ": open one, as in await connectRedis(url)"
  if (isThenable(store)) return ": await the promise, as in await connectRedis(url)"
  return isClient(store) ? ": wrap the client, as in redisStore(client)" : ""
}

export function checkClock(clock: unknown, place: string): void {
  checkType(clock, place, "a clock with now()", hasMethods("now"))
}

export function checkLogger(logger: unknown, place: string): void {
  checkType(logger, place, "an object with a method warn", hasMethods("warn"))
}

function checkText(text: unknown, place: string): void {
  checkType(text, place, "a string that is not empty", isFilledText)
}

export function compileLimits(options: LimiterOptions): CompiledLimits {
  checkObject(options, "createLimiter")
  const mistakes = new Mistakes()
  mistakes.try(() => checkFields(options, [...LIMIT_FIELDS, ...COMMON_FIELDS, "limits"], "createLimiter"))
  mistakes.try(() => checkStore(options.store, "createLimiter.store"))
  mistakes.try(() => checkClock(options.clock, "createLimiter.clock"))
  mistakes.try(() => checkText(options.prefix, "createLimiter.prefix"))
  mistakes.try(() =>
    checkOneOf(options.onStoreFailure, ["local", "allow", "deny"], "createLimiter.onStoreFailure"),
  )
  mistakes.try(() => checkLeases(options))
  mistakes.try(() => checkLogger(options.logger, "createLimiter.logger"))
  const compiled = mistakes.try(() => compileLimitsOf(options))
  mistakes.throwAll()
  return compiled as CompiledLimits
}

function checkLeases({ leases, clock }: LimiterOptions): void {
  checkType(leases, "createLimiter.leases", "true, false or an object", (value) => {
    return typeof value === "boolean" || (typeof value === "object" && value !== null)
  })
  if (leases === undefined || leases === false || clock === undefined) return
  throw new SluiceError("OPTION_CONFLICT", {
    place: "createLimiter.leases",
    expected: "needs the clock of the store; leave out clock",
  })
}

function compileLimitsOf(options: LimiterOptions): CompiledLimits {
  const { prefix = DEFAULT_PREFIX, leases } = options
  if (options.limits === undefined)
    return identify([options], [compileLimit(options, "createLimiter", prefix, leases)], options)
  const single = LIMIT_FIELDS.find((field) => options[field] !== undefined)
  if (single !== undefined) {
    throw new SluiceError("OPTION_CONFLICT", {
      place: `createLimiter.${single}`,
      expected: "belongs inside limits",
    })
  }
  checkType(options.limits, "createLimiter.limits", "a list of at least one limit", (list) => {
    return Array.isArray(list) && list.length > 0
  })
  const mistakes = new Mistakes()
  const compiled = Array.from(options.limits, (limit, i) => {
    const place = `limits[${i}]`
    return mistakes.try(() => {
      checkObject(limit, place)
      mistakes.try(() => checkFields(limit, LIMIT_FIELDS, place))
      return compileLimit(limit, place, prefix, leases)
    })
  })
  mistakes.throwAll()
  const limits = compiled as CompiledLimit[]
  checkDistinct(limits, "limits")
  return identify(options.limits, limits, options)
}

/**
 * Gives each limit without a name a namespace that is made of the numbers of all limits of the limiter. Every instance of a
 * program finds the same counters by it, and limiters with other limits have other counters.
 */
function identify(
  given: readonly LimitOptions[],
  limits: readonly CompiledLimit[],
  options: LimiterOptions,
): CompiledLimits {
  const { prefix = DEFAULT_PREFIX } = options
  const numbers = limits.map(({ policy }) => numbersOf(policy))
  const together = numbers.length === 1 ? "" : `@${numbers.join("+")}`
  const identified = limits.map((limit, i) =>
    given[i]?.name === undefined ? { ...limit, namespace: `${prefix}:${numbers[i]}${together}` } : limit,
  )
  const isNamed = options.prefix !== undefined || given.every(({ name }) => name !== undefined)
  return { limits: identified, prefix, unnamed: isNamed ? undefined : numbers.join("+") }
}

/** All numbers of a policy, such as `sc:100/1m`, `tb:10/1s-burst20` or `fw:100/day-Europe/Berlin`. */
function numbersOf(policy: Policy): string {
  const { limit, promisedCapacity: capacity, anchored, queue, lease, calendar } = policy
  const burst = capacity === limit ? "" : `-burst${capacity}`
  const zone = calendar === undefined ? "" : `-${calendar.timeZone}`
  const leased = lease === 0 ? "" : `-lease${formatDuration(lease / 1000)}`
  const rate = `${limit}/${calendar?.unit ?? formatDuration(policy.windowMs)}`
  return `${shapeOf(policy)}:${rate}${burst}${anchored ? "-first" : ""}${queue ? "-queue" : ""}${zone}${leased}`
}

function shapeOf({ algorithm, buckets }: Policy): string {
  return CODES[algorithm.name] + (buckets > 1 ? buckets : "")
}

/** An hour, a day and a week in seconds. As milliseconds they are unlikely. */
const ROUND_SECONDS: readonly unknown[] = [3_600, 86_400, 604_800]

/** Warns of windows that are almost certainly meant in seconds. A window with a unit is what it says. */
export function warnOfDoubtfulWindows({ window, limits, logger }: LimiterOptions): void {
  const windows = limits?.map((limit, i) => [`limits[${i}]`, limit.window] as const)
  for (const [place, given] of windows ?? [["createLimiter", window] as const]) {
    if (typeof given !== "number" || (given >= 1_000 && !ROUND_SECONDS.includes(given))) continue
    const fix = `write "${given}s" for seconds, or "${given}ms" if you mean it`
    const expected = `is ${given} milliseconds, which is probably a mistake; ${fix}`
    warn(new SluiceError("OPTION_DOUBTFUL", { place: `${place}.window`, expected }), logger)
  }
}

/** Throws if two limits have the same name or would share a counter. */
export function checkDistinct(limits: readonly CompiledLimit[], place: string): void {
  limits.forEach((limit, i) => {
    if (limits.findIndex(({ name, namespace }) => name === limit.name || namespace === limit.namespace) < i) {
      throw new SluiceError("LIMIT_NAME_DUPLICATE", {
        place: `${place}[${i}].name`,
        expected: "must be unique where algorithm and window are the same",
        found: limit.name,
      })
    }
  })
}

/** Compiles one limit. Without a name its namespace is that of its window, which stays the same when the limit is raised. */
export function compileLimit(
  options: LimitOptions,
  place: string,
  prefix: string,
  leases?: LeaseOptions,
): CompiledLimit {
  const mistakes = new Mistakes()
  mistakes.try(() => checkText(options.name, `${place}.name`))
  const penalty = mistakes.try(() => options.penalty && compilePenalty(options.penalty, `${place}.penalty`))
  const policy = mistakes.try(() => compilePolicy(options, place, leases)) as Policy
  mistakes.throwAll()
  const id = options.name ?? formatDuration(policy.windowMs)
  return {
    name: options.name ?? defaultName(policy),
    namespace: `${prefix}:${shapeOf(policy)}:${id}`,
    policy,
    penalty,
  }
}
