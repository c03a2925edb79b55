// The headers of nearly every decision: allowed, on one limit. The same as those of headers.ts. What one such decision has in
// common with the next, within a second, is kept as text.

import {
  type HeaderDecision,
  type HeaderPolicy,
  type HeaderStyle,
  memberStart,
  policyText,
} from "./headers.js"
import { sfInteger, wholeSeconds } from "./structured-field.js"

/** Whether `PlainHeaders` has the headers of a decision. */
export function isPlain({ allowed, limits }: HeaderDecision): boolean {
  return allowed && (limits === undefined || limits.length === 0)
}

export class PlainHeaders {
  readonly #style: HeaderStyle
  readonly #policy: string
  readonly #memberStart: string
  readonly #limit = new KeptText()
  readonly #resetAt = new KeptText()
  readonly #resetAfter = new KeptText()

  constructor(style: HeaderStyle, policies: readonly HeaderPolicy[]) {
    this.#style = style
    this.#policy = policyText(style, policies)
    this.#memberStart = memberStart(policies[0]?.name ?? "default")
  }

  /** Name, value, name, value. */
  list(decision: HeaderDecision): string[] {
    if (this.#style === "none") return []
    const left = sfInteger(decision.remaining)
    switch (this.#style) {
      case "legacy":
        return this.#legacy(decision, left)
      case "both": {
        const list = this.#legacy(decision, left)
        list.push("ratelimit-policy", this.#policy, "ratelimit", this.#member(decision, left))
        return list
      }
      case "draft-8":
        return ["ratelimit-policy", this.#policy, "ratelimit", this.#member(decision, left)]
      case "draft-7": {
        const text = `limit=${this.#limit.of(decision.limit)}, remaining=${left}, reset=${this.#reset(decision)}`
        return ["ratelimit-policy", this.#policy, "ratelimit", text]
      }
      case "draft-6": {
        const limit = this.#limit.of(decision.limit)
        const numbers = ["ratelimit-limit", limit, "ratelimit-remaining", left]
        return ["ratelimit-policy", this.#policy, ...numbers, "ratelimit-reset", this.#reset(decision)]
      }
    }
  }

  #legacy({ limit, resetAt }: HeaderDecision, left: string): string[] {
    const reset = this.#resetAt.of(wholeSeconds(resetAt))
    return [
      "x-ratelimit-limit",
      this.#limit.of(limit),
      "x-ratelimit-remaining",
      left,
      "x-ratelimit-reset",
      reset,
    ]
  }

  #member(decision: HeaderDecision, left: string): string {
    // Joined, because the engine only links what is concatenated, and Node's check of a header value takes such a text the
    // slow way.
    return [this.#memberStart, `;t=${this.#reset(decision)}`].join(left)
  }

  #reset({ resetAfterMs }: HeaderDecision): string {
    return this.#resetAfter.of(wholeSeconds(resetAfterMs))
  }
}

/** A number as text, kept until another is asked for. */
class KeptText {
  #value = Number.NaN
  #text = ""

  of(value: number): string {
    if (value !== this.#value) {
      this.#value = value
      this.#text = sfInteger(value)
    }
    return this.#text
  }
}
