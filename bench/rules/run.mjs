// Runs the mixes that were asked for, small and large rule sets in turn. Progress goes to stderr.

import { say } from "../harness/command.mjs"
import { interleave } from "../harness/rounds.mjs"
import { median, spread } from "../harness/statistics.mjs"
import { mixes, sizes } from "./cases.mjs"

/** @typedef {{ mean: number, spread: number, typical: number, p99: number, even: number, compileMs: number }} Timing */
/** @typedef {{ lookups: { mix: string, small: Timing, large: Timing }[] }} Figures */
/** @typedef {import("../harness/rounds.mjs").Sample & { typical: number, p99: number, even: number, compileMs: number }} Sample */

/**
 * @param {import("../harness/command.mjs").Plan} plan
 * @returns {Promise<Figures>}
 */
export async function run({ quick, cases }) {
  /** @type {Figures["lookups"]} */
  const lookups = []
  for (const { name: mix, title } of mixes) {
    if (!cases.includes(mix)) continue
    say(title)
    const samples = await interleave({
      module: new URL("timing.mjs", import.meta.url),
      contenders: Object.entries(sizes).map(([name, size]) => ({
        name,
        detail: { mix, size, lookups: quick ? 200_000 : 800_000 },
      })),
      generations: quick ? 1 : 3,
      roundsPerGeneration: 3,
    })
    const timing = (/** @type {string} */ name) => timingOf(/** @type {Sample[]} */ (samples.get(name)))
    lookups.push({ mix, small: timing("small"), large: timing("large") })
  }
  return { lookups }
}

/**
 * @param {readonly Sample[]} samples
 * @returns {Timing}
 */
function timingOf(samples) {
  const ns = samples.map(({ nsPerCall }) => nsPerCall)
  return {
    mean: median(ns),
    spread: spread(ns),
    typical: median(samples.map(({ typical }) => typical)),
    p99: median(samples.map(({ p99 }) => p99)),
    even: median(samples.map(({ even }) => even)),
    compileMs: median(samples.map(({ compileMs }) => compileMs)),
  }
}
