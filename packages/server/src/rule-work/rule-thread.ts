// A thread for long work on rule sets: checking bodies from the network, and rewriting files. It does one job at a time. A job
// that takes too long ends the thread, and the next job starts another.

import { createRequire } from "node:module"
import { pathToFileURL } from "node:url"
import { Worker } from "node:worker_threads"
import { SluiceError } from "sluice"
import { type ParseOptions, type RuleProblem, RuleSetError } from "sluice/rules"

/** A job for the thread. Values travel as JSON text, which costs the main thread less than copying each object. */
export type RuleJob =
  /** Reads a rule set from YAML or JSON. The result holds the set and its etag. */
  | { readonly kind: "set"; readonly text: string }
  /** Checks a rule set that the caller has as a value. The result holds its etag. */
  | { readonly kind: "value"; readonly text: string }
  /** Reads one rule as a part of the set `within`. The result holds the rule. */
  | {
      readonly kind: "rule"
      readonly text: string
      readonly within: string
      readonly id: string | undefined
    }
  /** Reads and checks a stored revision. */
  | { readonly kind: "revision"; readonly text: string; readonly name: string }
  /** Edits the text of a rule file so that it holds the set `after` instead of `before`. */
  | { readonly kind: "edit"; readonly text: string; readonly before: string; readonly after: string }
  /** Writes a rule set as YAML. */
  | { readonly kind: "format"; readonly text: string }

/** The result of a job: a value as JSON, the etag of a rule set, or a text. */
export interface RuleResult {
  readonly json?: string
  readonly etag?: string
  readonly text?: string
}

type RuleAnswer = RuleResult | { readonly problems: readonly RuleProblem[] }

/** The longest queue of jobs. More are refused. */
const MAX_WAITING = 32

export interface RuleThreadBounds {
  /** How long one job may take. The start of the thread does not count: it takes seconds on a busy machine. */
  readonly deadlineMs: number
  readonly memoryMb: number
}
/** How long an idle thread is kept. Starting one takes a tenth of a second. */
const IDLE_MS = 30_000

/** The modules that the thread loads. Undefined if everything was bundled into one file, without the library beside it. */
export const LIBRARY = ((): readonly string[] | undefined => {
  try {
    const require = createRequire(import.meta.url)
    return ["sluice/rules", "sluice/internal/rules"].map((name) => pathToFileURL(require.resolve(name)).href)
  } catch {
    return undefined
  }
})()

const TOO_MUCH: RuleProblem = { code: "RULES_SYNTAX", path: "", message: "takes too long to read" }

/** The code of the thread, as text, so that it needs no file of its own in a bundle. */
const THREAD = `
const { parentPort, workerData } = require("node:worker_threads")
const loading = Promise.all(workerData.library.map((file) => import(file))).then((modules) => Object.assign({}, ...modules))
loading.then(() => parentPort.postMessage({}))
parentPort.on("message", async ({ job, bounds }) => {
  const rules = await loading
  const work = {
    set() {
      const set = rules.parseRuleSet(job.text, bounds)
      return { json: JSON.stringify(set), etag: rules.ruleSetEtag(set) }
    },
    value: () => ({ etag: rules.ruleSetEtag(rules.checkRuleSet(JSON.parse(job.text), bounds)) }),
    rule: () => ({
      json: JSON.stringify(rules.parseRule(job.text, { ...bounds, within: JSON.parse(job.within), id: job.id })),
    }),
    revision: () => ({ json: JSON.stringify(rules.readRevision(job.text, job.name)) }),
    edit: () => ({ text: rules.editRuleText(job.text, JSON.parse(job.before), JSON.parse(job.after)) }),
    format: () => ({ text: rules.formatRuleSet(JSON.parse(job.text)) }),
  }
  try {
    parentPort.postMessage(work[job.kind]())
  } catch (error) {
    if (error instanceof rules.RuleSetError) parentPort.postMessage({ problems: error.problems })
    // The nesting was too deep for the stack.
    else if (error instanceof RangeError) parentPort.postMessage({ problems: [workerData.tooMuch] })
    else throw error
  }
})`

/** A job took too long or too much memory. No useful rule set does that. */
export class TooMuchWork extends RuleSetError {
  constructor(name: string) {
    super(name, [TOO_MUCH])
  }
}

export class RuleThread {
  readonly #bounds: RuleThreadBounds
  #worker: Worker | undefined
  #idle: NodeJS.Timeout | undefined
  #last: Promise<unknown> = Promise.resolve()
  #waiting = 0

  constructor(bounds: RuleThreadBounds) {
    this.#bounds = bounds
  }

  /**
   * Queues a job for the thread. Rejects at once if the queue is full, and with a RuleSetError if the rule set has mistakes.
   * `bounds` limit what a checked rule set may contain.
   */
  async run(job: RuleJob, bounds: ParseOptions = {}): Promise<RuleResult> {
    if (this.#waiting >= MAX_WAITING) throw busy()
    this.#waiting++
    const turn = this.#last.then(() => this.#run(job, bounds)).finally(() => this.#waiting--)
    this.#last = turn.catch(() => {})
    const answer = await turn
    if (answer === undefined) throw new TooMuchWork(nameOf(job, bounds))
    if ("problems" in answer) throw new RuleSetError(nameOf(job, bounds), answer.problems)
    return answer
  }

  /** Undefined if the job took too long or too much memory. */
  async #run(job: RuleJob, bounds: ParseOptions): Promise<RuleAnswer | undefined> {
    clearTimeout(this.#idle)
    const worker = this.#worker ?? (await start(this.#bounds.memoryMb))
    this.#worker = undefined
    if (worker === undefined) return undefined
    worker.ref()
    const answer = answerOf(worker, this.#bounds.deadlineMs)
    worker.postMessage({ job, bounds })
    const given = await answer
    if (given !== undefined) this.#keep(worker)
    return given
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

/** Undefined if the thread ends before it has loaded its modules. */
async function start(memoryMb: number): Promise<Worker | undefined> {
  const worker = new Worker(THREAD, {
    eval: true,
    workerData: { library: LIBRARY, tooMuch: TOO_MUCH },
    resourceLimits: { maxOldGenerationSizeMb: memoryMb },
  })
  return (await answerOf(worker)) === undefined ? undefined : worker
}

/** The next message of a thread. Undefined if the thread ends without one. A thread that takes too long is ended. */
function answerOf(worker: Worker, deadlineMs?: number): Promise<RuleAnswer | undefined> {
  let late: NodeJS.Timeout | undefined
  const answer = new Promise<RuleAnswer | undefined>((resolve, reject) => {
    worker.removeAllListeners()
    worker.once("message", resolve)
    worker.once("error", (error: NodeJS.ErrnoException) => {
      if (error.code === "ERR_WORKER_OUT_OF_MEMORY") resolve(undefined)
      else reject(error)
    })
    worker.once("exit", () => resolve(undefined))
    if (deadlineMs === undefined) return
    late = setTimeout(() => {
      // An answer that comes from now on is too late: the thread is ending, and can take no other job.
      resolve(undefined)
      void worker.terminate()
    }, deadlineMs)
  })
  return answer.finally(() => clearTimeout(late))
}

function nameOf(job: RuleJob, bounds: ParseOptions): string {
  return job.kind === "revision" ? job.name : (bounds.name ?? "rules")
}

function busy(): SluiceError {
  return new SluiceError("RULES_BUSY", {
    place: "rules",
    expected: `has ${MAX_WAITING} other checks waiting; try again in a few seconds`,
  })
}
