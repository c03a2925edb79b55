// The load: a fixed number of checks in flight. Each is a loop that sends the next check as soon as it has its answer, as
// the requests of a busy server do.

import { percentile } from "../harness/statistics.mjs"

/**
 * A limiter as the load sees it.
 * @template T
 * @typedef {object} Subject
 * @property {(key: string) => Promise<T>} check
 * @property {(result: T) => boolean} isAllowed
 * @property {boolean} [deniesByRejecting]
 */

/** @typedef {{ checks: number, allowed: number, seconds: number, p50Ms: number, p99Ms: number, clientMicros: number }} Load */

/** Reading the clock around every check would be a tenth of the fastest one. A prime, so that no loop is left out. */
const TIMED_EVERY = 13

/**
 * Runs for a time, or for a number of checks.
 * @template T
 * @param {Subject<T>} subject
 * @param {(i: number) => string} keyAt
 * @param {{ inFlight: number, ms?: number, checks?: number }} amount
 * @returns {Promise<Load>}
 */
export async function load(subject, keyAt, { inFlight, ms, checks: most = Number.POSITIVE_INFINITY }) {
  const { check, isAllowed, deniesByRejecting = false } = subject
  const timedEvery = inFlight === 1 ? 1 : TIMED_EVERY
  /** @type {number[]} */
  const times = []
  let next = 0
  let allowed = 0
  let stopped = false
  const ask = async (/** @type {string} */ key) => {
    try {
      if (isAllowed(await check(key))) allowed++
    } catch (denial) {
      if (!deniesByRejecting || denial instanceof Error) throw denial
    }
  }
  const worker = async () => {
    while (!stopped && next < most) {
      const i = next++
      if (i % timedEvery !== 0) {
        await ask(keyAt(i))
        continue
      }
      const asked = performance.now()
      await ask(keyAt(i))
      times.push(performance.now() - asked)
    }
  }
  const cpuBefore = process.cpuUsage()
  const started = performance.now()
  const timer = ms === undefined ? undefined : setTimeout(() => (stopped = true), ms)
  try {
    await Promise.all(Array.from({ length: Math.min(inFlight, most) }, worker))
  } finally {
    // One failure ends all loops.
    stopped = true
    clearTimeout(timer)
  }
  const seconds = (performance.now() - started) / 1000
  const { user, system } = process.cpuUsage(cpuBefore)
  return {
    checks: next,
    allowed,
    seconds,
    p50Ms: percentile(times, 0.5),
    p99Ms: percentile(times, 0.99),
    clientMicros: user + system,
  }
}
