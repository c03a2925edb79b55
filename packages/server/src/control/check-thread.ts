// The thread that rule sets from the network are checked in. One check at a time; a check that takes too long ends the
// thread, and the next check starts another.

import { createRequire } from "node:module"
import { pathToFileURL } from "node:url"
import { Worker } from "node:worker_threads"
import { SluiceError } from "sluice"
import type { ParseOptions, RuleProblem } from "sluice/rules"

/** What is to be checked. JSON goes over as text, which costs this thread less than a copy of each object. */
export type CheckJob =
  /** A rule set as YAML or JSON. The answer holds it. */
  | { readonly kind: "set"; readonly text: string }
  /** A rule set that the caller has as a value. */
  | { readonly kind: "value"; readonly text: string }
  /** A single rule of a set. The answer holds it. */
  | {
      readonly kind: "rule"
      readonly text: string
      readonly within: string
      readonly id: string | undefined
    }

export type CheckAnswer =
  | { readonly json: string | undefined }
  | { readonly problems: readonly RuleProblem[] }

/** Checks that wait for their turn, at most. */
const MAX_WAITING = 32
/** The worst 256 KB take a tenth of it on a machine that has nothing else to do. */
const DEADLINE_MS = 5_000
const MEMORY_MB = 256
/** How long a thread without work is kept. Starting one takes a tenth of a second. */
const IDLE_MS = 30_000

/** The file that a thread loads. None where all of this was bundled into one file, without the library beside it. */
export const LIBRARY = ((): string | undefined => {
  try {
    return pathToFileURL(createRequire(import.meta.url).resolve("sluice/rules")).href
  } catch {
    return undefined
  }
})()

const TOO_MUCH: RuleProblem = { code: "RULES_SYNTAX", path: "", message: "takes too long to read" }

/** Given as text, so that it needs no file of its own beside what is built. */
const THREAD = `
const { parentPort, workerData } = require("node:worker_threads")
const loading = import(workerData.library)
parentPort.on("message", async ({ job, bounds }) => {
  const { checkRuleSet, parseRule, parseRuleSet, RuleSetError } = await loading
  try {
    let json
    if (job.kind === "value") checkRuleSet(JSON.parse(job.text), bounds)
    else if (job.kind === "set") json = JSON.stringify(parseRuleSet(job.text, bounds))
    else json = JSON.stringify(parseRule(job.text, { ...bounds, within: JSON.parse(job.within), id: job.id }))
    parentPort.postMessage({ json })
  } catch (error) {
    if (error instanceof RuleSetError) parentPort.postMessage({ problems: error.problems })
    // A stack that is too small for what was sent.
    else if (error instanceof RangeError) parentPort.postMessage({ problems: [workerData.tooMuch] })
    else throw error
  }
})`

export class CheckThread {
  #worker: Worker | undefined
  #idle: NodeJS.Timeout | undefined
  #last: Promise<unknown> = Promise.resolve()
  #waiting = 0

  /** Checks in the thread, after those that came before. Rejects at once when too many wait. */
  check(job: CheckJob, bounds: ParseOptions): Promise<CheckAnswer> {
    if (this.#waiting >= MAX_WAITING) return Promise.reject(busy())
    this.#waiting++
    const turn = this.#last.then(() => this.#run(job, bounds)).finally(() => this.#waiting--)
    this.#last = turn.catch(() => {})
    return turn
  }

  async #run(job: CheckJob, bounds: ParseOptions): Promise<CheckAnswer> {
    clearTimeout(this.#idle)
    const worker = this.#worker ?? start()
    this.#worker = undefined
    worker.ref()
    const late = setTimeout(() => void worker.terminate(), DEADLINE_MS)
    try {
      const answer = await answerTo(worker, { job, bounds })
      if (answer !== undefined) this.#keep(worker)
      // Out of time or out of memory: nothing that anybody meant as rules.
      return answer ?? { problems: [TOO_MUCH] }
    } finally {
      clearTimeout(late)
    }
  }

  #keep(worker: Worker): void {
    worker.removeAllListeners()
    worker.on("error", () => {})
    worker.unref()
    this.#worker = worker
    this.#idle = setTimeout(() => {
      this.#worker = undefined
      void worker.terminate()
    }, IDLE_MS).unref()
  }
}

function start(): Worker {
  return new Worker(THREAD, {
    eval: true,
    workerData: { library: LIBRARY, tooMuch: TOO_MUCH },
    resourceLimits: { maxOldGenerationSizeMb: MEMORY_MB },
  })
}

/** Undefined when the thread ends without an answer. */
function answerTo(worker: Worker, message: object): Promise<CheckAnswer | undefined> {
  return new Promise((resolve, reject) => {
    worker.removeAllListeners()
    worker.once("message", resolve)
    worker.once("error", (error: NodeJS.ErrnoException) => {
      if (error.code === "ERR_WORKER_OUT_OF_MEMORY") resolve(undefined)
      else reject(error)
    })
    worker.once("exit", () => resolve(undefined))
    worker.postMessage(message)
  })
}

function busy(): SluiceError {
  return new SluiceError("RULES_BUSY", {
    place: "rules",
    expected: `is checking ${MAX_WAITING} others; try again in a few seconds`,
  })
}
