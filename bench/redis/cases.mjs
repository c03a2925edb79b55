// What is measured: how many checks in flight, on how many keys, and whether the answer is yes or no.

import { seededRandom, shuffled } from "../harness/random.mjs"

/**
 * @typedef {object} Case
 * @property {string} name
 * @property {string} short   for the head of a column
 * @property {"many" | "one"} keys
 * @property {number} inFlight
 * @property {"allowed" | "denied"} answer
 */

export const MANY = 10_000
export const IN_FLIGHT = [1, 64, 512]

/** @type {readonly Case[]} */
export const timingCases = [
  ...IN_FLIGHT.map((inFlight) => timingCase("many", inFlight)),
  ...IN_FLIGHT.map((inFlight) => timingCase("one", inFlight)),
  { name: "denied", short: "denied, 512", keys: "many", inFlight: 512, answer: "denied" },
]

export const caseNames = [...timingCases.map(({ name }) => name), "bytes"]

const DAY = 86_400_000

/**
 * A limit that no check reaches, or one that the first check uses up. It refills slowly, so that no key is full, and gone, before
 * it is checked again.
 * @param {Case["answer"]} answer
 * @returns {import("./contenders.mjs").Terms}
 */
export function termsFor(answer) {
  const limit = answer === "allowed" ? 10_000_000 : 1
  return { limit, refill: Math.min(limit, 100), windowMs: DAY }
}

/** An everyday limit, for what a key costs in memory: @type {import("./contenders.mjs").Terms} */
export const everydayTerms = { limit: 100, refill: 100, windowMs: 60_000 }

/**
 * The key of the i-th check. The strings exist before the run, in a shuffled order that is always the same.
 * @param {Case["keys"]} keys
 * @returns {(i: number) => string}
 */
export function keySequence(keys) {
  if (keys === "one") return () => keyOf(2_345)
  const names = Array.from(shuffled(MANY, seededRandom(20_240)), keyOf)
  return (i) => names[i % MANY]
}

/**
 * All of one length: `user:12345`.
 * @param {number} id
 */
export function keyOf(id) {
  return `user:${MANY + id}`
}

/**
 * @param {Case["keys"]} keys
 * @param {number} inFlight
 * @returns {Case}
 */
function timingCase(keys, inFlight) {
  return { name: `${keys}-${inFlight}`, short: `${keys}, ${inFlight}`, keys, inFlight, answer: "allowed" }
}
