// From a decision to response headers. Names are lower-case, as HTTP/2 wants them and as frameworks keep them anyway.

import { checkOneOf } from "../../options.js"
import { base64, sfInteger, sfString, wholeSeconds } from "./structured-field.js"

/**
 * - `legacy`: `x-ratelimit-limit`, `x-ratelimit-remaining`, `x-ratelimit-reset` (Unix seconds).
 * - `draft-6`, `draft-7`, `draft-8`: the IETF draft of that number; 8 is also the form of all later ones.
 * - `both`: legacy and the newest draft.
 * - `none`: not one header, not even `retry-after`.
 */
export type HeaderStyle = (typeof HEADER_STYLES)[number]

export const HEADER_STYLES = ["legacy", "draft-6", "draft-7", "draft-8", "both", "none"] as const

/** What a limit promises, whoever asks: the constant part of the headers. */
export interface HeaderPolicy {
  readonly name: string
  /** Units per window. */
  readonly quota: number
  readonly windowMs: number
  /** What is counted. Default: requests. */
  readonly unit?: "requests" | "content-bytes" | "concurrent-requests" | undefined
}

/** The part of one limit's decision that headers show. */
export interface HeaderLimit {
  readonly limit: number
  readonly remaining: number
  readonly retryAfterMs: number
  readonly resetAfterMs: number
  readonly resetAt: number
}

/** The part of a decision that headers show; a `Decision` is one. */
export interface HeaderDecision extends HeaderLimit {
  readonly allowed: boolean
  readonly limits?: readonly (HeaderLimit & { readonly name: string })[] | undefined
}

export interface HeaderOptions {
  /** Default: `both`. */
  readonly style?: HeaderStyle | undefined
  /** One per limit, in the order of `decision.limits`. */
  readonly policies: readonly HeaderPolicy[]
  /** Milliseconds to add to `retry-after`, so that clients denied together do not all come back together. */
  readonly jitter?: ((retryAfterMs: number) => number) | undefined
}

export type SetHeader = (name: string, value: string) => void

export interface HeaderWriter {
  /**
   * Hands over each header of this decision. `partitionKey` tells a client whose quota it saw, as `pk` of `ratelimit`
   * (draft-8 only); it is shown to the client as it is given, so hash what should stay secret.
   */
  write(decision: HeaderDecision, set: SetHeader, partitionKey?: string): void
}

/** Everything that is the same for each decision is put together here, once. */
export function headerWriter(options: HeaderOptions): HeaderWriter {
  const { style = "both", policies, jitter } = options
  checkOneOf(style, HEADER_STYLES, "headers")
  if (style === "none") return { write() {} }
  const draft = style === "both" ? "draft-8" : style
  const policy = policyText(style, policies)
  const memberStarts = new Map(policies.map(({ name }) => [name, memberStart(name)]))
  const onlyMember = memberStart(policies[0]?.name ?? "default")

  function writeMembers(decision: HeaderDecision, set: SetHeader, partitionKey: string | undefined): void {
    const end = partitionKey === undefined ? "" : `;pk=:${base64(partitionKey)}:`
    const { limits } = decision
    if (limits === undefined || limits.length === 0) {
      set("ratelimit", onlyMember + memberEnd(decision, decision) + end)
      return
    }
    const blocked = isBlocked(decision)
    let text = ""
    for (const entry of limits) {
      const start = memberStarts.get(entry.name) ?? memberStart(entry.name)
      // While the key is blocked nothing is left of any limit, whatever its own counter says.
      text += (text === "" ? "" : ", ") + start + memberEnd(blocked ? decision : entry, decision) + end
    }
    set("ratelimit", text)
  }

  return {
    write(decision, set, partitionKey) {
      const shown = shownLimit(decision)
      if (style === "both" || style === "legacy") {
        set("x-ratelimit-limit", sfInteger(shown.limit))
        set("x-ratelimit-remaining", sfInteger(shown.remaining))
        set("x-ratelimit-reset", sfInteger(wholeSeconds(shown.resetAt)))
      }
      if (draft !== "legacy" && policy !== "") set("ratelimit-policy", policy)
      if (draft === "draft-8") {
        writeMembers(decision, set, partitionKey)
      } else if (draft === "draft-7") {
        const { limit, remaining } = shown
        const reset = sfInteger(secondsUntilMore(shown))
        set("ratelimit", `limit=${sfInteger(limit)}, remaining=${sfInteger(remaining)}, reset=${reset}`)
      } else if (draft === "draft-6") {
        set("ratelimit-limit", sfInteger(shown.limit))
        set("ratelimit-remaining", sfInteger(shown.remaining))
        set("ratelimit-reset", sfInteger(secondsUntilMore(shown)))
      }
      // A cost that can never fit has no time to try again: no wait is right, so none is told.
      if (!decision.allowed && decision.retryAfterMs !== Infinity) {
        const wait = decision.retryAfterMs
        const extra = jitter === undefined ? 0 : Math.max(0, jitter(wait) || 0)
        set("retry-after", sfInteger(wholeSeconds(wait + extra)))
      }
    },
  }
}

/**
 * The limit whose numbers stand in headers with room for one: the one with the least remaining, or when denied the one
 * that denies for longest, because its numbers explain the answer. Of a blocked key: what the decision itself says.
 */
function shownLimit(decision: HeaderDecision): HeaderLimit {
  const { limits } = decision
  if (limits === undefined || limits.length === 0 || isBlocked(decision)) return decision
  return limits.reduce((a, b) => {
    if (decision.allowed || a.retryAfterMs === b.retryAfterMs) return b.remaining < a.remaining ? b : a
    return b.retryAfterMs > a.retryAfterMs ? b : a
  })
}

/** Denied, and by none of the limits: what denies is a block on the key. */
function isBlocked(decision: HeaderDecision): boolean {
  return !decision.allowed && decision.limits?.every((entry) => entry.retryAfterMs === 0) === true
}

/**
 * Seconds until there is more: of a limit that denies the wait, so that it never contradicts `retry-after`; of others
 * the time until it is as new, because a little more comes earlier with some algorithms but all of it never later.
 */
function secondsUntilMore({ retryAfterMs, resetAfterMs }: HeaderLimit): number {
  return wholeSeconds(retryAfterMs > 0 && retryAfterMs !== Infinity ? retryAfterMs : resetAfterMs)
}

export function memberStart(name: string): string {
  return `${sfString(name)};r=`
}

/**
 * The draft wants no `t` after `retry-after`. A limit that did not deny may reset after it; then its `t`, which is
 * optional, is left out rather than made up.
 */
function memberEnd(entry: HeaderLimit, decision: HeaderDecision): string {
  const seconds = secondsUntilMore(entry)
  const tooLate = !decision.allowed && seconds > wholeSeconds(decision.retryAfterMs)
  const remaining = sfInteger(entry.remaining)
  return tooLate ? remaining : `${remaining};t=${sfInteger(seconds)}`
}

/** What `ratelimit-policy` says, whatever is decided. */
export function policyText(style: HeaderStyle, policies: readonly HeaderPolicy[]): string {
  return style === "both" || style === "draft-8" ? policyList(policies) : oldPolicyList(policies)
}

function policyList(policies: readonly HeaderPolicy[]): string {
  return policies
    .map(({ name, quota, windowMs, unit }) => {
      const qu = unit === undefined || unit === "requests" ? "" : `;qu=${sfString(unit)}`
      return `${sfString(name)};q=${sfInteger(quota)}${windowParameter(windowMs)}${qu}`
    })
    .join(", ")
}

/** Up to draft 7 a policy had no name. */
function oldPolicyList(policies: readonly HeaderPolicy[]): string {
  return policies.map(({ quota, windowMs }) => sfInteger(quota) + windowParameter(windowMs)).join(", ")
}

/** Whole seconds only, and never 0. Rounded up: a client that paces itself by it is too slow rather than too fast. */
function windowParameter(windowMs: number): string {
  return windowMs > 0 ? `;w=${sfInteger(wholeSeconds(windowMs))}` : ""
}
