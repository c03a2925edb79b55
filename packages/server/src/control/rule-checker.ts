// Reads and checks rule sets. Large ones in a thread of their own: 256 KB of nothing but mistakes take a second to list, and
// decisions go on meanwhile.

import { createRequire } from "node:module"
import { pathToFileURL } from "node:url"
import { Worker } from "node:worker_threads"
import {
  checkRuleSet,
  parseRule,
  parseRuleSet,
  type RuleProblem,
  type RuleSetDocument,
  RuleSetError,
  type RuleSpec,
} from "sluice/rules"

/** Checked in a thread from here on. The worst set of this size takes about 30 ms, starting a thread about as long. */
const LARGE_BYTES = 8_192
/** As many as anybody reads. */
const MOST_PROBLEMS = 1_000
const DEADLINE_MS = 5_000
const NAME = "body"

/** A rule set as text, or as a value. */
export type SentDocument = { readonly text: string } | { readonly value: unknown }
/** One rule as text, to be a part of a set. */
export interface SentRule {
  readonly text: string
  readonly within: RuleSetDocument
  /** Whose place it takes, if there is such a rule. */
  readonly id: string | undefined
}
type Given = SentDocument | SentRule
type Checked<Result> = { readonly result: Result } | { readonly problems: readonly RuleProblem[] }

/** The file that a thread loads. None where all of this was bundled into one file, without the library beside it. */
const LIBRARY = ((): string | undefined => {
  try {
    return pathToFileURL(createRequire(import.meta.url).resolve("sluice/rules")).href
  } catch {
    return undefined
  }
})()

/** Given as text, so that it needs no file of its own beside what is built. */
const THREAD = `
const { parentPort, workerData } = require("node:worker_threads")
const { library, given, name, most } = workerData
import(library).then(({ checkRuleSet, parseRule, parseRuleSet, RuleSetError }) => {
  const { text, value, ...part } = given
  try {
    const result =
      text === undefined ? checkRuleSet(value, { name })
      : "within" in part ? parseRule(text, { name, ...part })
      : parseRuleSet(text, { name })
    parentPort.postMessage({ result })
  } catch (error) {
    if (!(error instanceof RuleSetError)) throw error
    parentPort.postMessage({ problems: error.problems.slice(0, most) })
  }
})`

export class RuleChecker {
  #last: Promise<unknown> = Promise.resolve()

  /** The rule set, if it is one. Rejects with every mistake in it. `bytes` is how much somebody has sent for it. */
  check(given: SentDocument, bytes: number): Promise<RuleSetDocument> {
    return this.#check(given, bytes, async () =>
      "text" in given ? parseRuleSet(given.text, { name: NAME }) : checkRuleSet(given.value, { name: NAME }),
    )
  }

  /** The rule, if it is one that its set can have. */
  checkRule(given: SentRule, bytes: number): Promise<RuleSpec> {
    return this.#check(given, bytes, async () => parseRule(given.text, { name: NAME, ...given }))
  }

  #check<Result>(given: Given, bytes: number, checkHere: () => Promise<Result>): Promise<Result> {
    if (bytes <= LARGE_BYTES || LIBRARY === undefined) return checkHere()
    // One at a time: nobody gets all cores by sending many.
    const turn = this.#last.then(() => checkInThread<Result>(given, LIBRARY))
    this.#last = turn.catch(() => {})
    return turn
  }
}

async function checkInThread<Result>(given: Given, library: string): Promise<Result> {
  const worker = new Worker(THREAD, {
    eval: true,
    workerData: { library, given, name: NAME, most: MOST_PROBLEMS },
    resourceLimits: { maxOldGenerationSizeMb: 256 },
  })
  const late = setTimeout(() => void worker.terminate(), DEADLINE_MS)
  try {
    const checked = await new Promise<Checked<Result>>((resolve, reject) => {
      worker.once("message", resolve)
      worker.once("error", reject)
      // Out of time or out of memory: nothing that anybody meant as rules.
      worker.once("exit", () => resolve({ problems: [TOO_MUCH] }))
    })
    if ("result" in checked) return checked.result
    throw new RuleSetError(NAME, checked.problems)
  } finally {
    clearTimeout(late)
    await worker.terminate()
  }
}

const TOO_MUCH: RuleProblem = { code: "RULES_SYNTAX", path: "", message: "takes too long to read" }
