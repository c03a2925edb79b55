// Reads and checks rule sets that come from the network. The work is done in a thread: 256 KB of nothing but mistakes take
// half a second to list, and decisions go on meanwhile.

import {
  checkRuleSet,
  parseRule,
  parseRuleSet,
  type RuleSetDocument,
  RuleSetError,
  type RuleSpec,
} from "sluice/rules"
import { type CheckJob, CheckThread, LIBRARY } from "./check-thread.js"

const NAME = "body"
/** No aliases: they let a few bytes stand for many. No more mistakes than anybody reads. */
const BOUNDS = { name: NAME, maxAliases: 0, maxProblems: 1_000 }

/** A rule set as text, or as a value. */
export type SentDocument = { readonly text: string } | { readonly value: unknown }
/** One rule as text, to be a part of a set. */
export interface SentRule {
  readonly text: string
  readonly within: RuleSetDocument
  /** Whose place it takes, if there is such a rule. */
  readonly id: string | undefined
}

/** One for the whole process: nobody gets all cores by sending many. */
const thread = new CheckThread()

export class RuleChecker {
  /** The rule set, if it is one. Rejects with the mistakes in it. */
  async check(given: SentDocument): Promise<RuleSetDocument> {
    if (LIBRARY === undefined)
      return "text" in given ? parseRuleSet(given.text, BOUNDS) : checkRuleSet(given.value, BOUNDS)
    if ("text" in given) return (await inThread({ kind: "set", text: given.text })) as RuleSetDocument
    await inThread({ kind: "value", text: JSON.stringify(given.value) ?? "null" })
    return given.value as RuleSetDocument
  }

  /** The rule, if it is one that its set can have. */
  async checkRule({ text, within, id }: SentRule): Promise<RuleSpec> {
    if (LIBRARY === undefined) return parseRule(text, { ...BOUNDS, within, id })
    return (await inThread({ kind: "rule", text, within: JSON.stringify(within), id })) as RuleSpec
  }
}

async function inThread(job: CheckJob): Promise<unknown> {
  const checked = await thread.check(job, BOUNDS)
  if ("problems" in checked) throw new RuleSetError(NAME, checked.problems)
  return checked.json === undefined ? undefined : JSON.parse(checked.json)
}
