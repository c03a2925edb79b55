// Reads and checks rule sets that come from the network. The work is done in a thread: 256 KB of nothing but mistakes take
// half a second to list, and decisions go on meanwhile.

import { formatRuleSet, ruleSetEtag } from "sluice/internal/rules"
import { checkRuleSet, parseRule, parseRuleSet, type RuleSetDocument, type RuleSpec } from "sluice/rules"
import { LIBRARY, RuleThread } from "../rule-thread.js"
import { isLittle, orElse } from "../rule-work.js"

/** No aliases: they let a few bytes stand for many. No more mistakes than anybody reads. */
const BOUNDS = { name: "body", maxAliases: 0, maxProblems: 1_000 }

/** The worst 256 KB take a fifth of it on a machine that has nothing else to do. */
const DEADLINE_MS = 5_000

/** A rule set as text, or as a value. */
export type SentDocument = { readonly text: string } | { readonly value: unknown }
/** One rule as text, to be a part of a set. */
export interface SentRule {
  readonly text: string
  readonly within: RuleSetDocument
  /** Whose place it takes, if there is such a rule. */
  readonly id: string | undefined
}

/** A rule set that has no mistakes, and what it is known by. */
export interface CheckedDocument {
  readonly document: RuleSetDocument
  readonly etag: string
}

/** One for the whole process: nobody gets all cores by sending many. */
const thread = new RuleThread({ deadlineMs: DEADLINE_MS, memoryMb: 256 })

export class RuleChecker {
  /** The rule set, if it is one. Rejects with the mistakes in it. */
  async check(given: SentDocument): Promise<CheckedDocument> {
    if (LIBRARY === undefined) {
      const document = "text" in given ? parseRuleSet(given.text, BOUNDS) : checkRuleSet(given.value, BOUNDS)
      return { document, etag: ruleSetEtag(document) }
    }
    if ("text" in given) {
      const { json, etag } = await thread.run({ kind: "set", text: given.text }, BOUNDS)
      return { document: JSON.parse(json as string), etag: etag as string }
    }
    const { etag } = await thread.run({ kind: "value", text: JSON.stringify(given.value) ?? "null" }, BOUNDS)
    return { document: given.value as RuleSetDocument, etag: etag as string }
  }

  /** The rule, if it is one that its set can have. */
  async checkRule({ text, within, id }: SentRule): Promise<RuleSpec> {
    if (LIBRARY === undefined) return parseRule(text, { ...BOUNDS, within, id })
    const { json } = await thread.run({ kind: "rule", text, within: JSON.stringify(within), id }, BOUNDS)
    return JSON.parse(json as string)
  }

  /** A rule set as YAML. */
  async format(document: RuleSetDocument): Promise<string> {
    const here = () => formatRuleSet(document)
    const text = JSON.stringify(document)
    if (isLittle(text.length)) return here()
    return await thread.run({ kind: "format", text }).then((made) => made.text as string, orElse(here))
  }
}
