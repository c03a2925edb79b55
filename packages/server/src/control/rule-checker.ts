// Reads and checks rule sets. Large ones in a thread of their own: 256 KB of nothing but mistakes take a second to list, and
// decisions go on meanwhile.

import { createRequire } from "node:module"
import { pathToFileURL } from "node:url"
import { Worker } from "node:worker_threads"
import {
  checkRuleSet,
  parseRuleSet,
  type RuleProblem,
  type RuleSetDocument,
  RuleSetError,
} from "sluice/rules"

/** Checked in a thread from here on. The worst set of this size takes about 30 ms, starting a thread about as long. */
const LARGE_BYTES = 8_192
/** As many as anybody reads. */
const MOST_PROBLEMS = 1_000
const DEADLINE_MS = 5_000
const NAME = "body"

/** A rule set as text, or as a value. */
export type SentDocument = { readonly text: string } | { readonly value: unknown }
type Checked = { readonly document: RuleSetDocument } | { readonly problems: readonly RuleProblem[] }

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
import(library).then(({ checkRuleSet, parseRuleSet, RuleSetError }) => {
  try {
    const document = "text" in given ? parseRuleSet(given.text, { name }) : checkRuleSet(given.value, { name })
    parentPort.postMessage({ document })
  } catch (error) {
    if (!(error instanceof RuleSetError)) throw error
    parentPort.postMessage({ problems: error.problems.slice(0, most) })
  }
})`

export class RuleChecker {
  #last: Promise<unknown> = Promise.resolve()

  /** The rule set, if it is one. Rejects with every mistake in it. `bytes` is how much somebody has sent for it. */
  check(given: SentDocument, bytes: number): Promise<RuleSetDocument> {
    if (bytes <= LARGE_BYTES || LIBRARY === undefined) return checkHere(given)
    // One at a time: nobody gets all cores by sending many.
    const turn = this.#last.then(() => checkInThread(given, LIBRARY))
    this.#last = turn.catch(() => {})
    return turn
  }
}

async function checkHere(given: SentDocument): Promise<RuleSetDocument> {
  return "text" in given
    ? parseRuleSet(given.text, { name: NAME })
    : checkRuleSet(given.value, { name: NAME })
}

async function checkInThread(given: SentDocument, library: string): Promise<RuleSetDocument> {
  const worker = new Worker(THREAD, {
    eval: true,
    workerData: { library, given, name: NAME, most: MOST_PROBLEMS },
    resourceLimits: { maxOldGenerationSizeMb: 256 },
  })
  const late = setTimeout(() => void worker.terminate(), DEADLINE_MS)
  try {
    const checked = await new Promise<Checked>((resolve, reject) => {
      worker.once("message", resolve)
      worker.once("error", reject)
      // Out of time or out of memory: nothing that anybody meant as rules.
      worker.once("exit", () => resolve({ problems: [TOO_MUCH] }))
    })
    if ("document" in checked) return checked.document
    throw new RuleSetError(NAME, checked.problems)
  } finally {
    clearTimeout(late)
    await worker.terminate()
  }
}

const TOO_MUCH: RuleProblem = { code: "RULES_SYNTAX", path: "", message: "takes too long to read" }
