// The loop that is timed. It runs as a server does: some calls, then a turn of the event loop, in which timers and the
// collector get their say. That turn is part of the time.

const CALLS_PER_TURN = 10_000

/**
 * A limiter as the loop sees it: `check` is the contender's own call, and its result is kept alive until the next one, so
 * that the engine cannot leave out making it.
 * @template T
 * @typedef {object} Subject
 * @property {(key: string) => T | Promise<T>} check
 * @property {(result: T) => boolean} isAllowed
 * @property {boolean} awaited  whether `check` returns a promise; it is then awaited before the next call
 * @property {boolean} [deniesByRejecting]
 */

export const turn = () => new Promise((resolve) => setImmediate(resolve))

/**
 * @template T
 * @param {Subject<T>} subject
 * @param {(i: number) => string} keyAt
 * @param {number} from
 * @param {number} calls
 * @returns {Promise<import("./rounds.mjs").Sample>}
 */
export async function timeCalls(subject, keyAt, from, calls) {
  const runChunk = chunkRunner(subject, keyAt)
  let allowed = 0
  const started = process.hrtime.bigint()
  for (let done = 0; done < calls; done += CALLS_PER_TURN) {
    const chunk = runChunk(from + done, from + Math.min(done + CALLS_PER_TURN, calls))
    allowed += typeof chunk === "number" ? chunk : await chunk
    await turn()
  }
  const ns = Number(process.hrtime.bigint() - started)
  return { nsPerCall: ns / calls, allowedShare: allowed / calls }
}

/** The last result of each chunk. Exported, so that it counts as used. */
export const kept = { result: /** @type {unknown} */ (undefined) }

/**
 * @template T
 * @param {Subject<T>} subject
 * @param {(i: number) => string} keyAt
 * @returns {(from: number, to: number) => number | Promise<number>}
 */
function chunkRunner(subject, keyAt) {
  if (!subject.awaited) return syncChunk(subject, keyAt)
  return subject.deniesByRejecting ? rejectingChunk(subject, keyAt) : awaitedChunk(subject, keyAt)
}

/**
 * @template T
 * @param {Subject<T>} subject
 * @param {(i: number) => string} keyAt
 */
function syncChunk({ check, isAllowed }, keyAt) {
  return (/** @type {number} */ from, /** @type {number} */ to) => {
    let allowed = 0
    /** @type {T | undefined} */
    let result
    for (let i = from; i < to; i++) {
      result = /** @type {T} */ (check(keyAt(i)))
      if (isAllowed(result)) allowed++
    }
    kept.result = result
    return allowed
  }
}

/**
 * @template T
 * @param {Subject<T>} subject
 * @param {(i: number) => string} keyAt
 */
function awaitedChunk({ check, isAllowed }, keyAt) {
  return async (/** @type {number} */ from, /** @type {number} */ to) => {
    let allowed = 0
    /** @type {T | undefined} */
    let result
    for (let i = from; i < to; i++) {
      result = await check(keyAt(i))
      if (isAllowed(result)) allowed++
    }
    kept.result = result
    return allowed
  }
}

/**
 * For a limiter whose denials are rejected promises: the caller needs a try and a catch, so they are part of the call.
 * @template T
 * @param {Subject<T>} subject
 * @param {(i: number) => string} keyAt
 */
function rejectingChunk({ check }, keyAt) {
  return async (/** @type {number} */ from, /** @type {number} */ to) => {
    let allowed = 0
    /** @type {unknown} */
    let result
    for (let i = from; i < to; i++) {
      try {
        result = await check(keyAt(i))
        allowed++
      } catch (denial) {
        if (denial instanceof Error) throw denial
        result = denial
      }
    }
    kept.result = result
    return allowed
  }
}
