// Turns decisions into response headers. Names are in lower case, as HTTP/2 requires.

import { getOrAdd } from "../../get-or-add.js"
import { HEADER_STYLES, type HeaderPolicy, type HeaderStyle } from "../../header-style.js"
import { checkOneOf } from "../../options.js"
import { base64, sfInteger, sfString, wholeSeconds } from "./structured-field.js"

/** What headers show of the decision on one limit. */
export interface HeaderLimit {
  readonly limit: number
  readonly remaining: number
  readonly retryAfterMs: number
  readonly resetAfterMs: number
  readonly resetAt: number
}

/** What headers show of a decision. Every `Decision` has these fields. */
export interface HeaderDecision extends HeaderLimit {
  readonly allowed: boolean
  readonly limits?: readonly (HeaderLimit & { readonly name: string })[] | undefined
}

/** How `retry-after` says when to retry: after so many seconds, or from which time on. */
export type RetryAfterForm = (typeof RETRY_AFTER_FORMS)[number]

export const RETRY_AFTER_FORMS = ["seconds", "http-date"] as const

export interface HeaderOptions {
  /** Default: `both`. */
  readonly style?: HeaderStyle | undefined
  /** Default: `seconds`. */
  readonly retryAfter?: RetryAfterForm | undefined
  /** One per limit, in the order of `decision.limits`. */
  readonly policies: readonly HeaderPolicy[]
  /** Returns milliseconds to add to `retry-after`, so that clients denied together do not all retry together. */
  readonly jitter?: ((retryAfterMs: number) => number) | undefined
}

export type SetHeader = (name: string, value: string) => void

export interface HeaderWriter {
  /**
   * Calls `set` for each header of the decision. `partitionKey` becomes the parameter `pk` of `ratelimit` (draft-8 only): it
   * tells clients whose quota they see. Clients receive it as given, so hash a key that must stay secret.
   */
  write(decision: HeaderDecision, set: SetHeader, partitionKey?: string): void
}

/** Returns a writer of the headers of decisions on these limits. */
export function headerWriter(options: HeaderOptions): HeaderWriter {
  const { style = "both", policies, jitter, retryAfter } = options
  checkOneOf(style, HEADER_STYLES, "headers")
  checkOneOf(retryAfter, RETRY_AFTER_FORMS, "retryAfter")
  const format = new HeaderFormat(style, policies)
  return {
    write(decision, set, partitionKey) {
      const list = format.list(decision, { retryAfter, partitionKey, jitter })
      for (let i = 0; i < list.length; i += 2) set(list[i] as string, list[i + 1] as string)
    },
  }
}

type Policies = readonly HeaderPolicy[]

interface ListOptions extends Pick<HeaderOptions, "retryAfter" | "jitter"> {
  readonly partitionKey?: string | undefined
}

const DEFAULTS: ListOptions = {}

/** The headers of decisions on the same limits in one style, with the constant parts written once. */
class HeaderFormat {
  readonly #style: HeaderStyle
  readonly #policyText: string
  readonly #memberStarts: ReadonlyMap<string, string>
  readonly #onlyMemberStart: string

  constructor(style: HeaderStyle, policies: Policies) {
    this.#style = style
    this.#policyText = policyText(style, policies)
    this.#memberStarts = new Map(policies.map(({ name }) => [name, memberStart(name)]))
    this.#onlyMemberStart = memberStart(policies[0]?.name ?? "default")
  }

  /** Returns a new flat list: name, value, name, value. */
  list(decision: HeaderDecision, { retryAfter, partitionKey, jitter }: ListOptions): string[] {
    const list: string[] = []
    const style = this.#style
    if (style === "none") return list
    const shown = shownLimit(decision)
    const remaining = sfInteger(shown.remaining)
    if (style === "both" || style === "legacy") {
      list.push("x-ratelimit-limit", sfInteger(shown.limit), "x-ratelimit-remaining", remaining)
      list.push("x-ratelimit-reset", sfInteger(wholeSeconds(shown.resetAt)))
    }
    if (style !== "legacy" && this.#policyText !== "") list.push("ratelimit-policy", this.#policyText)
    if (style === "both" || style === "draft-8") {
      list.push("ratelimit", this.#members(decision, partitionKey))
    } else if (style === "draft-7") {
      const reset = sfInteger(secondsUntilMore(shown))
      list.push("ratelimit", `limit=${sfInteger(shown.limit)}, remaining=${remaining}, reset=${reset}`)
    } else if (style === "draft-6") {
      list.push("ratelimit-limit", sfInteger(shown.limit), "ratelimit-remaining", remaining)
      list.push("ratelimit-reset", sfInteger(secondsUntilMore(shown)))
    }
    // A cost above the limit never fits, so no wait would help and the header is left out.
    if (!decision.allowed && decision.retryAfterMs !== Infinity) {
      const wait = decision.retryAfterMs
      const extra = jitter === undefined ? 0 : Math.max(0, jitter(wait) || 0)
      list.push("retry-after", retryAfterText(decision, wait + extra, retryAfter))
    }
    return list
  }

  /** The value of draft 8's `ratelimit`: one member per limit. */
  #members(decision: HeaderDecision, partitionKey: string | undefined): string {
    const end = partitionKey === undefined ? "" : `;pk=:${base64(partitionKey)}:`
    const { limits } = decision
    if (limits === undefined || limits.length === 0) {
      return this.#onlyMemberStart + memberEnd(decision, decision) + end
    }
    // A block on the key leaves nothing of any limit, whatever the counter of the limit says.
    const blocked = isBlocked(decision)
    return limits
      .map((entry) => {
        const start = this.#memberStarts.get(entry.name) ?? memberStart(entry.name)
        return start + memberEnd(blocked ? decision : entry, decision) + end
      })
      .join(", ")
  }
}

const formats = new Map<HeaderStyle, WeakMap<Policies, HeaderFormat>>()

/**
 * The headers of a decision on these limits as a new flat list: name, value, name, value. Pass the same array of policies
 * each time: their texts are cached by it.
 */
export function headerList(
  style: HeaderStyle,
  policies: Policies,
  decision: HeaderDecision,
  options = DEFAULTS,
): string[] {
  const byPolicies = getOrAdd(formats, style, () => new WeakMap())
  return getOrAdd(byPolicies, policies, () => new HeaderFormat(style, policies)).list(decision, options)
}

/** Rounded up: a client that waits until then is not too early. A date is that of the clock that decided. */
function retryAfterText(
  { resetAt, resetAfterMs }: HeaderDecision,
  waitMs: number,
  form: RetryAfterForm = "seconds",
): string {
  if (form === "seconds") return sfInteger(wholeSeconds(waitMs))
  return new Date(wholeSeconds(resetAt - resetAfterMs + waitMs) * 1000).toUTCString()
}

/**
 * The limit that a header with room for one limit shows: the one with the least remaining, or in a denial the one with the
 * longest wait. When a block on the key denies, no single limit explains it, and the decision's own numbers are shown.
 */
function shownLimit(decision: HeaderDecision): HeaderLimit {
  const { limits } = decision
  if (limits === undefined || limits.length === 0 || isBlocked(decision)) return decision
  return limits.reduce((a, b) => {
    if (decision.allowed || a.retryAfterMs === b.retryAfterMs) return b.remaining < a.remaining ? b : a
    return b.retryAfterMs > a.retryAfterMs ? b : a
  })
}

/** Whether a block on the key denies: the request is denied, and by none of the limits. */
function isBlocked(decision: HeaderDecision): boolean {
  return !decision.allowed && decision.limits?.every((entry) => entry.retryAfterMs === 0) === true
}

/**
 * Seconds until the client may send more. For a limit that denies it is the wait, so that it agrees with `retry-after`. For
 * other limits it is the time until they are fully reset; part of the quota may come back earlier.
 */
function secondsUntilMore({ retryAfterMs, resetAfterMs }: HeaderLimit): number {
  return wholeSeconds(retryAfterMs > 0 && retryAfterMs !== Infinity ? retryAfterMs : resetAfterMs)
}

function memberStart(name: string): string {
  return `${sfString(name)};r=`
}

/**
 * The numbers of a member. The draft forbids a `t` that is later than `retry-after`; a limit that did not deny may reset
 * later, and then its `t`, which is optional, is left out.
 */
function memberEnd(entry: HeaderLimit, decision: HeaderDecision): string {
  const seconds = secondsUntilMore(entry)
  const tooLate = !decision.allowed && seconds > wholeSeconds(decision.retryAfterMs)
  const remaining = sfInteger(entry.remaining)
  return tooLate ? remaining : `${remaining};t=${sfInteger(seconds)}`
}

/** The value of `ratelimit-policy`, which is the same for every decision. Up to draft 7 policies have no name. */
function policyText(style: HeaderStyle, policies: Policies): string {
  const isNamed = style === "both" || style === "draft-8"
  return policies
    .map(({ name, quota, windowMs, unit }) => {
      const numbers = sfInteger(quota) + windowParameter(windowMs)
      if (!isNamed) return numbers
      const qu = unit === undefined || unit === "requests" ? "" : `;qu=${sfString(unit)}`
      return `${sfString(name)};q=${numbers}${qu}`
    })
    .join(", ")
}

/** Whole seconds, at least 1. Rounded up: a client that paces itself by it is too slow rather than too fast. */
function windowParameter(windowMs: number): string {
  return windowMs > 0 ? `;w=${sfInteger(wholeSeconds(windowMs))}` : ""
}
