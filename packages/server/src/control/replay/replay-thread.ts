// Replays a log in a thread of its own, so that decisions go on meanwhile. The log goes over in pieces, and no faster than
// it is read there.

import { createRequire } from "node:module"
import { pathToFileURL } from "node:url"
import { Worker } from "node:worker_threads"
import { type ErrorCode, SluiceError } from "sluice"
import type { Candidate, LogFormatOption, ReplayReport } from "../../replay/index.js"

export interface ReplayBounds {
  /** Longer, and it is ended. */
  readonly deadlineMs: number
  /** Ends it: nobody waits for the report any more. */
  readonly signal: AbortSignal
}

/** What may be on its way to the thread. */
const MOST_WAITING_BYTES = 1_048_576
/** Counters of a log with millions of clients fit; a set of rules made to fill memory does not. */
const MEMORY_MB = 512

/**
 * Given as text, so that it needs no file of its own beside what is built. Null ends the log. On Linux, 0 is this thread
 * alone, so that it takes the time that decisions leave; elsewhere it would be the whole process. Only once it is loaded:
 * on a busy machine what is that patient gets a hundredth of a core, and loading, a third of a second, took half a minute.
 */
const THREAD = `
const { parentPort, workerData } = require("node:worker_threads")
const { library, rules, format } = workerData
const waiting = []
let wake = () => {}
parentPort.on("message", (chunk) => {
  waiting.push(chunk)
  wake()
})
async function* log() {
  for (;;) {
    while (waiting.length === 0) await new Promise((resolve) => { wake = resolve })
    const chunk = waiting.shift()
    if (chunk === null) return
    parentPort.postMessage({ taken: chunk.length })
    yield chunk
  }
}
import(library)
  .then(({ replay }) => {
    if (process.platform === "linux") require("node:os").setPriority(0, 10)
    return replay(log(), format === undefined ? { rules } : { rules, format })
  })
  .then(
    (report) => parentPort.postMessage({ report }),
    (error) => {
      if (error.name !== "SluiceError") throw error
      const { code, place, expected, found } = error
      parentPort.postMessage({ mistake: { code, place, expected, found: typeof found === "string" ? found : undefined } })
    },
  )
  .finally(() => parentPort.close())`

interface Mistake {
  readonly code: ErrorCode
  readonly place: string
  readonly expected: string
  readonly found: string | undefined
}
type Said = { readonly taken: number } | Outcome
type Outcome = { readonly report: ReplayReport } | { readonly mistake: Mistake }

/** Rejects with what is wrong with the log, with the error that `log` ends with, or when it takes too much. */
export async function replayInThread(
  log: AsyncIterable<Uint8Array>,
  options: { readonly rules: readonly Candidate[]; readonly format: LogFormatOption | undefined },
  { deadlineMs, signal }: ReplayBounds,
): Promise<ReplayReport> {
  // Who has sent all of the log, and goes before the thread is there, would otherwise never be heard of again.
  signal.throwIfAborted()
  const library = pathToFileURL(createRequire(import.meta.url).resolve("@sluice/server/replay")).href
  const worker = new Worker(THREAD, {
    eval: true,
    workerData: { library, ...options },
    resourceLimits: { maxOldGenerationSizeMb: MEMORY_MB },
  })
  const end = () => void worker.terminate()
  const late = setTimeout(end, deadlineMs)
  signal.addEventListener("abort", end)
  try {
    const outcome = await Promise.race([outcomeOf(worker), feeding(log, worker)])
    if ("report" in outcome) return outcome.report
    const { code, place, expected, found } = outcome.mistake
    throw new SluiceError(code, { place, expected, ...(found === undefined ? {} : { found }) })
  } finally {
    clearTimeout(late)
    signal.removeEventListener("abort", end)
    await worker.terminate()
  }
}

function outcomeOf(worker: Worker): Promise<Outcome> {
  return new Promise((resolve, reject) => {
    worker.on("message", (said: Said) => {
      if (!("taken" in said)) resolve(said)
    })
    worker.once("error", (error) => {
      reject((error as NodeJS.ErrnoException).code === "ERR_WORKER_OUT_OF_MEMORY" ? tooMuch() : error)
    })
    worker.once("exit", () => reject(tooMuch()))
  })
}

/** Hands the log over. Never resolves: only the thread says that it is done. */
async function feeding(log: AsyncIterable<Uint8Array>, worker: Worker): Promise<never> {
  let waiting = 0
  let resume = () => {}
  worker.on("message", (said: Said) => {
    if (!("taken" in said)) return
    waiting -= said.taken
    if (waiting < MOST_WAITING_BYTES) resume()
  })
  for await (const chunk of log) {
    // A copy: what it came in belongs to the socket, and cannot be given away.
    const piece = Uint8Array.from(chunk)
    waiting += piece.length
    worker.postMessage(piece, [piece.buffer])
    if (waiting >= MOST_WAITING_BYTES) {
      await new Promise<void>((resolve) => {
        resume = resolve
      })
    }
  }
  worker.postMessage(null)
  return await new Promise<never>(() => {})
}

function tooMuch(): SluiceError {
  return new SluiceError("REPLAY_TOO_MUCH", {
    place: "replay",
    expected:
      "took more time or memory than it may; try a part of the log, or sluice replay on a machine of yours",
  })
}
