// Runs the selected cases and collects their figures. Progress goes to stderr.

import { askOnce } from "../harness/child.mjs"
import { say } from "../harness/command.mjs"
import { interleave } from "../harness/rounds.mjs"
import { median, spread } from "../harness/statistics.mjs"
import { otherCases, timingCases } from "./cases.mjs"
import { contenderNamed, contenders } from "./contenders.mjs"

/** @typedef {import("../harness/command.mjs").Plan} Plan */

/**
 * @typedef {object} Figures
 * @property {{ case: string, answer: string, contender: string, ns: number, spread: number, rounds: readonly number[] }[]} timings
 * @property {{ contender: string, keys: number, bytesPerKey: number, rssPerKey: number }[]} bytes
 * @property {{ algorithm: string, keys: number, longestMs: number, runs: readonly number[], controlMs: number, worstBytesPerKey: number }[]} growth
 * @property {{ checks: number, coldMs: number, warmMs: number } | undefined} slidingLog
 * @property {Flood | undefined} flood
 */

/**
 * @typedef {object} Flood
 * @property {number} distinctKeys
 * @property {number} maxKeys
 * @property {{ checks: number, rssMiB: number, heldKeys: number, nsPerCheck: number }[]} steps
 * @property {Record<string, number>} wrong
 * @property {Record<string, number>} checked
 * @property {number} evicted
 * @property {number} refused
 */

export const caseNames = [...timingCases().map(({ name }) => name), ...otherCases]

/**
 * @param {Plan} plan
 * @returns {Promise<Figures>}
 */
export async function run(plan) {
  const wants = (/** @type {string} */ name) => plan.cases.includes(name)
  return {
    timings: await timings(plan),
    bytes: wants("bytes") ? await bytes(plan) : [],
    growth: wants("growth") ? await growth(plan) : [],
    slidingLog: wants("log") ? await slidingLog(plan) : undefined,
    flood: wants("flood") ? await flood(plan) : undefined,
  }
}

/** @param {Plan} plan */
async function timings(plan) {
  /** @type {Figures["timings"]} */
  const figures = []
  for (const timingCase of timingCases(plan.quick)) {
    if (!plan.cases.includes(timingCase.name)) continue
    for (const expected of timingCase.answers) {
      say(`${timingCase.title}, ${expected}`)
      const samples = await interleave({
        module: new URL("timing.mjs", import.meta.url),
        contenders: wanted(plan, timingCase.name).map((name) => ({
          name,
          detail: { contender: name, timingCase, expected },
        })),
        generations: timingCase.generations,
        roundsPerGeneration: timingCase.rounds,
      })
      for (const [contender, taken] of samples) {
        const rounds = taken.map(({ nsPerCall }) => nsPerCall)
        figures.push({
          case: timingCase.name,
          answer: expected,
          contender,
          ns: median(rounds),
          spread: spread(rounds),
          rounds,
        })
      }
    }
  }
  return figures
}

/** @param {Plan} plan */
async function bytes(plan) {
  const keys = 1_000_000
  /** @type {Figures["bytes"]} */
  const figures = []
  for (const contender of wanted(plan, "bytes")) {
    // What peers need does not change with our code, and filling them takes long.
    if (plan.quick && contenderNamed(contender).kind === "peer") continue
    say(`memory per key, ${contender}`)
    figures.push({
      contender,
      keys,
      ...(await askOnce(new URL("bytes.mjs", import.meta.url), { contender, keys })),
    })
  }
  return figures
}

/** @param {Plan} plan */
async function growth(plan) {
  const keys = 1_000_000
  /** @type {Figures["growth"]} */
  const figures = []
  for (const algorithm of ["token-bucket", "sliding-window-counter"]) {
    say(`longest check while growing, ${algorithm}`)
    const runs = []
    for (let i = 0; i < (plan.quick ? 1 : 3); i++) {
      runs.push(await askOnce(new URL("growth.mjs", import.meta.url), { algorithm, keys }))
    }
    figures.push({
      algorithm,
      keys,
      longestMs: median(runs.map(({ longestMs }) => longestMs)),
      runs: runs.map(({ longestMs }) => longestMs),
      controlMs: median(runs.map(({ controlMs }) => controlMs)),
      worstBytesPerKey: Math.max(...runs.map(({ worstBytesPerKey }) => worstBytesPerKey)),
    })
  }
  return figures
}

/** @param {Plan} plan */
async function slidingLog(plan) {
  say("sliding log")
  const checks = 10_000
  const runs = []
  for (let i = 0; i < (plan.quick ? 3 : 7); i++) {
    runs.push(await askOnce(new URL("sliding-log.mjs", import.meta.url), { checks }))
  }
  return {
    checks,
    coldMs: median(runs.map(({ coldMs }) => coldMs)),
    warmMs: median(runs.map(({ warmMs }) => warmMs)),
  }
}

/** @param {Plan} plan */
async function flood({ quick }) {
  say("flood of distinct keys")
  const size = quick
    ? { distinctKeys: 300_000, maxKeys: 30_000 }
    : { distinctKeys: 10_000_000, maxKeys: 1_000_000 }
  return { ...size, ...(await askOnce(new URL("flood.mjs", import.meta.url), size)) }
}

/**
 * @param {Plan} plan
 * @param {string} caseName
 */
function wanted(plan, caseName) {
  return contenders
    .filter(({ cases }) => cases === undefined || cases.includes(caseName))
    .filter(({ kind }) => caseName !== "bytes" || kind !== "baseline")
    .filter(({ notLargeWhenQuick }) => !(plan.quick && notLargeWhenQuick && caseName === "1m"))
    .map(({ name }) => name)
    .filter((name) => plan.contenders.length === 0 || plan.contenders.includes(name))
}
