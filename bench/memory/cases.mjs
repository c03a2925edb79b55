// What is measured: how many keys, in which order, and whether the answer is yes or no.

import { seededRandom, shuffled, zipf } from "../harness/random.mjs"

/**
 * @typedef {object} Case
 * @property {string} name
 * @property {string} title
 * @property {string} short  for the head of a column
 * @property {number} keys
 * @property {number} calls  per round
 * @property {number} generations  of processes
 * @property {number} rounds  per generation
 * @property {readonly Answer[]} answers
 */

/** @typedef {"allowed" | "denied"} Answer */

/** @type {readonly Answer[]} */
export const answers = ["allowed", "denied"]

/**
 * Many short rounds rather than few long ones: what else the machine does comes in bursts of seconds, and then falls on all
 * contenders alike. Filling every contender with a million keys takes longer than all the rest, so there are fewer processes then.
 * @returns {Case[]}
 */
export function timingCases(quick = false) {
  const few = { generations: quick ? 1 : 5, rounds: quick ? 2 : 5, calls: quick ? 500_000 : 800_000, answers }
  return [
    { name: "hot", title: "one hot key", short: "hot", keys: 1, ...few },
    { name: "10k", title: "10,000 keys", short: "10 k", keys: 10_000, ...few },
    {
      name: "1m",
      title: "1,000,000 keys, Zipf, fresh strings",
      short: "1 M",
      keys: 1_000_000,
      generations: quick ? 1 : 3,
      rounds: quick ? 2 : 5,
      calls: quick ? 250_000 : 600_000,
      answers: quick ? ["allowed"] : answers,
    },
  ]
}

const DAY = 86_400_000

/**
 * A limit that is never reached, or one that the first call uses up. A day, so that no window ends in between (except at
 * midnight UTC), and a slow refill, so that a key is not full again, and forgotten, before it is asked for again.
 * @param {Answer} answer
 * @param {number} keys
 * @returns {import("./contenders.mjs").Terms}
 */
export function termsFor(answer, keys) {
  const limit = answer === "allowed" ? 10_000_000 : 1
  return { limit, refill: Math.min(limit, 100), windowMs: DAY, keys }
}

/** An everyday limit, for what a key costs in memory: @type {Omit<import("./contenders.mjs").Terms, "keys">} */
export const everydayTerms = { limit: 100, refill: 100, windowMs: DAY }

/** The cases that are not a timing of calls, in the order they run. */
export const otherCases = ["bytes", "growth", "log", "flood"]

/** Fresh strings are drawn from a list this long, over and over. A power of two. */
const DRAWS = 2 ** 20

/**
 * The key of the i-th call. One and 10,000 keys are strings made before, whose hash the engine remembers: the best case
 * for limiters built on `Map`. The keys of the large case are built anew for each call, as a server does from a request.
 * @param {Case} timingCase
 * @returns {(i: number) => string}
 */
export function keySequence({ name, keys }) {
  if (name === "hot") return () => "user:1"
  const random = seededRandom(20_240)
  if (name === "10k") {
    const names = Array.from(shuffled(keys, random), keyOf)
    return (i) => names[i % keys]
  }
  const drawn = zipf(keys, DRAWS, random)
  return (i) => keyOf(drawn[i & (DRAWS - 1)])
}

/** @param {number} id */
export function keyOf(id) {
  return `user:${id}`
}
