// Reads and checks rule sets that come from the network, in a thread: listing the mistakes of the worst 256 KB takes half a
// second, and the main thread must go on deciding meanwhile.

import { formatRuleSet, ruleSetEtag } from "sluice/internal/rules"
import {
  checkRuleSet,
  type GuardRails,
  type ParseOptions,
  parseRule,
  parseRuleSet,
  type RuleSetDocument,
  type RuleSpec,
} from "sluice/rules"
import { LIBRARY, RuleThread } from "./rule-thread.js"
import { isShort, orElse } from "./source-work.js"

/** YAML aliases are refused, because a few bytes of them expand to many. The list of mistakes is bounded. */
const BOUNDS = { name: "body", maxAliases: 0, maxProblems: 1_000 }

/** Five times what the worst 256 KB take on an idle machine. */
const DEADLINE_MS = 5_000

/** A rule set as text, or as a value. */
export type SentDocument = { readonly text: string } | { readonly value: unknown }
/** One rule as text, to be a part of a set. */
export interface SentRule {
  readonly text: string
  readonly within: RuleSetDocument
  /** The id of the rule that it replaces, if any. */
  readonly id: string | undefined
}

/** A rule set without mistakes, and its etag. */
export interface CheckedDocument {
  readonly document: RuleSetDocument
  readonly etag: string
}

/** One thread for the whole process, so that many bodies cannot use all cores. */
const thread = new RuleThread({ deadlineMs: DEADLINE_MS, memoryMb: 256 })

export class RuleChecker {
  readonly #bounds: ParseOptions

  constructor(guardRails?: GuardRails) {
    this.#bounds = { ...BOUNDS, guardRails }
  }

  /** Reads a rule set. Rejects with its mistakes. */
  async check(given: SentDocument): Promise<CheckedDocument> {
    if (LIBRARY === undefined) {
      const document =
        "text" in given ? parseRuleSet(given.text, this.#bounds) : checkRuleSet(given.value, this.#bounds)
      return { document, etag: ruleSetEtag(document) }
    }
    if ("text" in given) {
      const { json, etag } = await thread.run({ kind: "set", text: given.text }, this.#bounds)
      return { document: JSON.parse(json as string), etag: etag as string }
    }
    const { etag } = await thread.run(
      { kind: "value", text: JSON.stringify(given.value) ?? "null" },
      this.#bounds,
    )
    return { document: given.value as RuleSetDocument, etag: etag as string }
  }

  /** Reads one rule as a part of its set. Rejects with its mistakes. */
  async checkRule({ text, within, id }: SentRule): Promise<RuleSpec> {
    if (LIBRARY === undefined) return parseRule(text, { ...this.#bounds, within, id })
    const { json } = await thread.run(
      { kind: "rule", text, within: JSON.stringify(within), id },
      this.#bounds,
    )
    return JSON.parse(json as string)
  }

  /** A rule set as YAML. */
  async format(document: RuleSetDocument): Promise<string> {
    const here = () => formatRuleSet(document)
    const text = JSON.stringify(document)
    if (isShort(text.length)) return here()
    return await thread.run({ kind: "format", text }).then((made) => made.text as string, orElse(here))
  }
}
