// Where the index ends: at a rule that has been found to match on the way, or at a few that are still to be asked.

import type { ComparedRequest } from "./compared-request.js"
import type { Found } from "./found.js"
import type { IndexNode, Leads } from "./leads.js"
import type { Matched } from "./match-spec.js"
import { Params, type PathPattern } from "./path-pattern.js"
import type { RuleMatch } from "./rule-match.js"

/** To rules that are not told apart any further, for requests of which some parts are known to match. */
export function leadToFew(leads: Leads, rules: readonly RuleMatch[], known: number): number {
  const settled = rules.length === 1 ? rules[0]?.settledBy(known) : undefined
  if (settled === undefined) return leads.toNode(new Leaf(rules, known))
  const { matched, pattern } = settled
  return pattern === undefined ? leads.toSettled(matched) : leads.toNode(new Captured(matched, pattern))
}

/** One rule that has been found to match on the way, with parameters to capture, of which there usually is one. */
class Captured implements IndexNode {
  readonly #index: number
  readonly #pattern: string
  readonly #name: string
  readonly #offset: number
  readonly #others: PathPattern["params"]

  constructor({ index }: Matched, { text, params: [first, ...others] }: PathPattern) {
    this.#index = index
    this.#pattern = text
    this.#name = first?.name ?? ""
    this.#offset = first?.offset ?? 0
    this.#others = others.length === 0 ? NO_OTHERS : others
  }

  collect({ captured }: ComparedRequest, found: Found): void {
    const params: Record<string, string> = new Params()
    params[this.#name] = captured[this.#offset] as string
    for (const { name, offset } of this.#others) params[name] = captured[offset] as string
    found.add({ index: this.#index, params, pattern: this.#pattern })
  }
}

const NO_OTHERS: PathPattern["params"] = []

/** A few rules, asked one after the other. */
class Leaf implements IndexNode {
  readonly #rules: readonly RuleMatch[]
  /** What to ask each of them. */
  readonly #ask: readonly number[]

  constructor(rules: readonly RuleMatch[], known: number) {
    this.#rules = rules
    this.#ask = rules.map((rule) => rule.toAsk(known))
  }

  collect(request: ComparedRequest, found: Found): void {
    for (let i = 0; i < this.#rules.length; i++) {
      const matched = this.#rules[i]?.match(request, this.#ask[i] as number)
      if (matched !== undefined) found.add(matched)
    }
  }
}
