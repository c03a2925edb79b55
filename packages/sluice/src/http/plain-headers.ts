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
  list({ limit, remaining, resetAfterMs, resetAt }: HeaderDecision): string[] {
    const left = sfInteger(remaining)
    switch (this.#style) {
      case "legacy":
        return [
          "x-ratelimit-limit",
          this.#limit.of(limit),
          "x-ratelimit-remaining",
          left,
          "x-ratelimit-reset",
          this.#resetAt.of(wholeSeconds(resetAt)),
        ]
      case "both":
        return [
          "x-ratelimit-limit",
          this.#limit.of(limit),
          "x-ratelimit-remaining",
          left,
          "x-ratelimit-reset",
          this.#resetAt.of(wholeSeconds(resetAt)),
          "ratelimit-policy",
          this.#policy,
          "ratelimit",
          `${this.#memberStart}${left};t=${this.#resetAfter.of(wholeSeconds(resetAfterMs))}`,
        ]
      case "draft-8":
        return [
          "ratelimit-policy",
          this.#policy,
          "ratelimit",
          `${this.#memberStart}${left};t=${this.#resetAfter.of(wholeSeconds(resetAfterMs))}`,
        ]
      case "draft-7": {
        const reset = this.#resetAfter.of(wholeSeconds(resetAfterMs))
        const text = `limit=${this.#limit.of(limit)}, remaining=${left}, reset=${reset}`
        return ["ratelimit-policy", this.#policy, "ratelimit", text]
      }
      case "draft-6":
        return [
          "ratelimit-policy",
          this.#policy,
          "ratelimit-limit",
          this.#limit.of(limit),
          "ratelimit-remaining",
          left,
          "ratelimit-reset",
          this.#resetAfter.of(wholeSeconds(resetAfterMs)),
        ]
      case "none":
        return []
    }
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
