// The headers of a decision as lines of HTTP/1.1, for whoever writes heads as text.

import type { HeaderDecision, HeaderPolicy, HeaderStyle } from "./headers.js"
import { keptByLimits } from "./memoize-by-policy.js"
import { headerList } from "./merged-headers.js"
import { sfInteger, wholeSeconds } from "./structured-field.js"

type Policies = readonly HeaderPolicy[]

const find = keptByLimits((style, policies) => new HeaderLines(style, policies))
let last: HeaderLines | undefined

/** Puts the headers of decisions about these limits into lines, each with its end. */
export function headerLines(style: HeaderStyle, policies: Policies): HeaderLines {
  if (last?.policies !== policies || last.style !== style) last = find(style, policies)
  return last
}

const SAMPLE: HeaderDecision = {
  allowed: true,
  limit: 1,
  remaining: 1,
  retryAfterMs: 0,
  resetAfterMs: 0,
  resetAt: 0,
}

/**
 * Of decisions on one limit, which most are, only what is left differs from one to the next within a second. So the texts
 * around it are kept: a head then takes a fifth of the time that its headers take one by one.
 */
export class HeaderLines {
  readonly style: HeaderStyle
  readonly policies: Policies
  /** Of the headers of what is allowed, in lower case. */
  readonly names: readonly string[]
  readonly #list: (decision: HeaderDecision) => string[]
  #allowed: boolean | undefined
  #limit = 0
  #retryAfter = 0
  #resetAfter = 0
  #resetAt = 0
  /** What stands before, between and after the number of what is left. Some styles say it once only. */
  #start = ""
  #middle = ""
  #end: string | undefined
  /** The lines of the last denial, and what was left then: most often as much as at the next, nothing. */
  #denied = ""
  #deniedLeft = ""

  constructor(style: HeaderStyle, policies: Policies) {
    this.style = style
    this.policies = policies
    this.#list = headerList(style, policies)
    this.names = this.#list(SAMPLE).filter((_, i) => i % 2 === 0)
  }

  write(decision: HeaderDecision): string {
    const { allowed, limit, limits } = decision
    if (this.names.length === 0) return ""
    if (limits !== undefined && limits.length > 0) return linesOf(this.#list(decision))
    const retryAfter = wholeSeconds(decision.retryAfterMs)
    const resetAfter = wholeSeconds(decision.resetAfterMs)
    const resetAt = wholeSeconds(decision.resetAt)
    const left = sfInteger(decision.remaining)
    if (
      resetAfter !== this.#resetAfter ||
      resetAt !== this.#resetAt ||
      retryAfter !== this.#retryAfter ||
      limit !== this.#limit ||
      allowed !== this.#allowed
    ) {
      const [start = "", middle = "", end] = around(this.#list(decision), left)
      this.#start = start
      this.#middle = middle
      this.#end = end
      this.#allowed = allowed
      this.#limit = limit
      this.#retryAfter = retryAfter
      this.#resetAfter = resetAfter
      this.#resetAt = resetAt
      this.#deniedLeft = ""
    }
    if (!allowed) return this.#linesOfDenial(left)
    const lines = this.#start + left + this.#middle
    return this.#end === undefined ? lines : lines + left + this.#end
  }

  #linesOfDenial(left: string): string {
    if (left !== this.#deniedLeft) {
      const rest = this.#end === undefined ? [] : [left, this.#end]
      this.#denied = [this.#start, left, this.#middle, ...rest].join("")
      this.#deniedLeft = left
    }
    return this.#denied
  }
}

function linesOf(list: readonly string[]): string {
  let lines = ""
  for (let i = 0; i < list.length; i += 2) lines += `${list[i]}: ${list[i + 1]}\r\n`
  return lines
}

/**
 * The lines, cut where it says how much is left. Joined, and not added up: what is added up stays in pieces, and each of them
 * is paid for again whenever the text is written.
 */
function around(list: readonly string[], left: string): string[] {
  const pieces: string[] = []
  let parts: string[] = []
  for (let i = 0; i < list.length; i += 2) {
    const name = list[i] as string
    const value = list[i + 1] as string
    const at = leftAt(name, value)
    parts.push(name, ": ")
    if (at >= 0) {
      pieces.push([...parts, value.slice(0, at)].join(""))
      parts = [value.slice(at + left.length), "\r\n"]
    } else parts.push(value, "\r\n")
  }
  return [...pieces, parts.join("")]
}

/** Where in the value of a header that number starts, or -1. */
function leftAt(name: string, value: string): number {
  if (name.endsWith("-remaining")) return 0
  if (name !== "ratelimit") return -1
  // The name of a limit may look like anything, but comes before it.
  const ofMember = value.lastIndexOf(";r=")
  return ofMember < 0 ? value.indexOf("remaining=") + "remaining=".length : ofMember + ";r=".length
}
