// Measures what limiters do with traffic, through the public API.

import { createLimiter, memoryStore } from "sluice"
import { ManualClock } from "sluice/testing"
import { LIMIT, WINDOW_MS } from "./traffic.mjs"

/**
 * @typedef {Partial<import("sluice").LimitOptions>} Choice an algorithm and its options
 * @typedef {{ at: number, allowed: boolean, leavesAt: number }} Outcome the outcome of one request
 */

/**
 * The algorithms that the comparison picture and the table compare.
 *
 * @type {{ title: string, choice: Choice }[]}
 */
export const comparedAlgorithms = [
  { title: "fixed-window", choice: { algorithm: "fixed-window" } },
  { title: "sliding-window-counter", choice: { algorithm: "sliding-window-counter" } },
  {
    title: "sliding-window-counter, buckets: 10",
    choice: { algorithm: "sliding-window-counter", buckets: 10 },
  },
  { title: "sliding-window-log", choice: { algorithm: "sliding-window-log" } },
  // leaky-bucket and gcra make the same decisions as token-bucket.
  { title: "token-bucket, leaky-bucket, gcra", choice: { algorithm: "token-bucket" } },
  {
    title: 'leaky-bucket, overflow: "queue"',
    choice: { algorithm: "leaky-bucket", overflow: "queue" },
  },
]

/**
 * Sends all requests to a new limiter.
 *
 * @param {Choice} choice
 * @param {readonly number[]} times
 * @returns {Outcome[]}
 */
export function run(choice, times) {
  const clock = new ManualClock(times[0])
  const limiter = createLimiter({ limit: LIMIT, window: WINDOW_MS, ...choice, clock })
  return times.map((at) => {
    clock.set(at)
    const { allowed, delayMs } = limiter.checkSync("client")
    return { at, allowed, leavesAt: at + delayMs }
  })
}

/**
 * For each of the sorted times, how many of them are in the window that ends with it. A request counts while now - t < window.
 *
 * @param {readonly number[]} times
 * @returns {number[]}
 */
function slidingTotals(times) {
  let first = 0
  return times.map((now, i) => {
    while (now - times[first] >= WINDOW_MS) first++
    return i - first + 1
  })
}

/**
 * The number of requests in the last 60 s as a step function: a list of [time, total].
 *
 * @param {readonly number[]} times
 * @param {number} from
 * @param {number} to
 * @returns {[number, number][]}
 */
export function staircase(times, from, to) {
  const changes = times.flatMap((time) => [
    { at: time, by: 1 },
    { at: time + WINDOW_MS, by: -1 },
  ])
  changes.sort((a, b) => a.at - b.at || a.by - b.by)
  /** @type {[number, number][]} */
  const points = [[from, 0]]
  let total = 0
  for (const { at, by } of changes) {
    if (at > to) break
    points.push([at, total], [at, total + by])
    total += by
  }
  points.push([to, total])
  return points
}

/**
 * Compares every decision with an exact log of the requests that the limiter admitted before.
 *
 * @param {readonly Outcome[]} outcomes
 */
export function judge(outcomes) {
  /** @type {number[]} */
  const admitted = []
  let first = 0
  let wronglyDenied = 0
  let wronglyAdmitted = 0
  for (const { at, allowed } of outcomes) {
    while (first < admitted.length && at - admitted[first] >= WINDOW_MS) first++
    const fits = admitted.length - first < LIMIT
    if (allowed && !fits) wronglyAdmitted++
    if (!allowed && fits) wronglyDenied++
    if (allowed) admitted.push(at)
  }
  return { admitted: admitted.length, wronglyDenied, wronglyAdmitted }
}

/** The times at which admitted requests leave the limiter, sorted. @param {readonly Outcome[]} outcomes */
export function passTimes(outcomes) {
  const admitted = outcomes.filter((outcome) => outcome.allowed)
  return admitted.map((outcome) => outcome.leavesAt).sort((a, b) => a - b)
}

/** The largest number of `times` within any 60 s, and when it is reached first. @param {readonly number[]} times */
export function worstWindow(times) {
  const totals = slidingTotals(times)
  const total = Math.max(...totals)
  return { total, at: times[totals.indexOf(total)] }
}

/**
 * The memory of a key in a full store: its slot, its share of the empty slots, and its entries if the algorithm is a log.
 *
 * @param {Choice} choice
 */
export function bytesPerKey(choice) {
  const keys = 2_000
  const clock = new ManualClock()
  const store = memoryStore({ maxKeys: keys, clock })
  const limiter = createLimiter({ limit: LIMIT, window: WINDOW_MS, ...choice, store, clock })
  for (let unit = 0; unit < LIMIT; unit++) {
    clock.advance(1)
    for (let key = 0; key < keys; key++) limiter.checkSync(`client:${key}`)
  }
  if (store.stats.keys !== keys)
    throw new Error(`expected ${keys} keys in the store, got ${store.stats.keys}`)
  return store.stats.bytes / keys
}
