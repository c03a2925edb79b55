// Replays a log in a thread of its own, so that the main thread goes on deciding. The log is sent to the thread in pieces, and no
// faster than the thread reads it.

import { createRequire } from "node:module"
import { pathToFileURL } from "node:url"
import { Worker } from "node:worker_threads"
import { type ErrorCode, SluiceError } from "sluice"
import type { ReplayOptions, ReplayReport } from "../../replay/index.js"

export interface ReplayBounds {
  /** The replay is ended after this time. */
  readonly deadlineMs: number
  /** Ends the replay, because the client no longer waits for the report. */
  readonly signal: AbortSignal
}

/** The most bytes that may be on their way to the thread. */
const MAX_WAITING_BYTES = 1_048_576
/** Enough for the counters of millions of clients, but not for rules that are made to fill the memory. */
const MEMORY_MB = 512

/**
 * The code of the thread, as text, so that it needs no file of its own in a bundle. Null ends the log. The thread lowers its
 * priority, so that it uses the time that decisions leave: on Linux, process id 0 means this thread alone; elsewhere it would
 * be the whole process. It does so only after loading, which at low priority took half a minute on a busy machine.
 */
const THREAD = `
const { parentPort, workerData } = require("node:worker_threads")
const { library, ...options } = workerData
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
    return replay(log(), options)
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

/** Replays a log. Rejects if the log is not understood, if reading it fails, or if it takes too much time or memory. */
export async function replayInThread(
  log: AsyncIterable<Uint8Array>,
  options: Pick<ReplayOptions, "rules" | "format" | "cost">,
  { deadlineMs, signal }: ReplayBounds,
): Promise<ReplayReport> {
  // The client may have left before the thread was started.
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

/** Sends the log to the thread. Never resolves, because only the thread knows when it is done. */
async function feeding(log: AsyncIterable<Uint8Array>, worker: Worker): Promise<never> {
  let waiting = 0
  let resume = () => {}
  worker.on("message", (said: Said) => {
    if (!("taken" in said)) return
    waiting -= said.taken
    if (waiting < MAX_WAITING_BYTES) resume()
  })
  for await (const chunk of log) {
    // A copy, because the chunk belongs to the socket and cannot be transferred.
    const piece = Uint8Array.from(chunk)
    waiting += piece.length
    worker.postMessage(piece, [piece.buffer])
    if (waiting >= MAX_WAITING_BYTES) {
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
      "exceeded its limit of time or memory; send a part of the log, or run sluice replay on your own machine",
  })
}
