// Interleaved rounds: A B C, B C A, C A B. A machine that gets slower for a while slows all contenders alike.

import { availableParallelism } from "node:os"
import { startChild } from "./child.mjs"

/** @typedef {{ nsPerCall: number, allowedShare: number }} Sample */

/**
 * Every generation starts a fresh process per contender (another layout of memory, another draw of what the engine
 * compiles when), lets it prepare, and then measures all of them in turn, one at a time.
 *
 * @param {object} plan
 * @param {URL} plan.module
 * @param {readonly { name: string, detail: object }[]} plan.contenders
 * @param {number} plan.generations
 * @param {number} plan.roundsPerGeneration
 * @returns {Promise<Map<string, Sample[]>>}
 */
export async function interleave({ module, contenders, generations, roundsPerGeneration }) {
  /** @type {Map<string, Sample[]>} */
  const samples = new Map(contenders.map(({ name }) => [name, []]))
  for (let generation = 0; generation < generations; generation++) {
    const children = contenders.map(() => startChild(module))
    try {
      await onAllCores(contenders.length, (i) => children[i].ask("prepare", contenders[i].detail))
      for (let round = 0; round < roundsPerGeneration; round++) {
        for (const i of rotated(contenders.length, generation * roundsPerGeneration + round)) {
          samples.get(contenders[i].name)?.push(await children[i].ask("measure"))
        }
      }
    } finally {
      for (const child of children) child.stop()
    }
  }
  return samples
}

/**
 * 0 … count - 1, each time starting one further on.
 * @param {number} count
 * @param {number} turn
 */
export function rotated(count, turn) {
  return Array.from({ length: count }, (_, i) => (i + turn) % count)
}

/**
 * Preparing is not timed, so it may use all cores.
 * @param {number} count
 * @param {(i: number) => Promise<unknown>} prepare
 */
async function onAllCores(count, prepare) {
  let next = 0
  const worker = async () => {
    while (next < count) await prepare(next++)
  }
  await Promise.all(Array.from({ length: availableParallelism() }, worker))
}
