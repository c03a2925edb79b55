// Runs the selected mixes, small and large rule sets in turn. Progress goes to stderr.

import { say } from "../harness/command.mjs"
import { interleave } from "../harness/rounds.mjs"
import { median, spread } from "../harness/statistics.mjs"
import { mixes, sizes } from "./cases.mjs"
import { bundleMatcher } from "./matcher.mjs"

/** @typedef {{ mean: number, spread: number, typical: number, p99: number, even: number, compileMs: number }} Timing */
/**
 * `ratio`: of the medians of large and small in the same round; median of all rounds.
 * @typedef {{ lookups: { mix: string, small: Timing, large: Timing, ratio: number }[] }} Figures
 */
/** @typedef {import("../harness/rounds.mjs").Sample & { typical: number, p99: number, even: number, compileMs: number }} Sample */

/**
 * @param {import("../harness/command.mjs").Plan} plan
 * @returns {Promise<Figures>}
 */
export async function run({ quick, cases }) {
  /** @type {Figures["lookups"]} */
  const lookups = []
  const matcher = await bundleMatcher()
  try {
    for (const { name: mix, title } of mixes) {
      if (!cases.includes(mix)) continue
      say(title)
      const samples = await interleave({
        module: new URL("timing.mjs", import.meta.url),
        contenders: Object.entries(sizes).map(([name, size]) => ({
          name,
          detail: { matcher: matcher.url, mix, size, lookups: quick ? 200_000 : 400_000 },
        })),
        generations: quick ? 1 : 5,
        roundsPerGeneration: quick ? 3 : 4,
      })
      const small = /** @type {Sample[]} */ (samples.get("small"))
      const large = /** @type {Sample[]} */ (samples.get("large"))
      const ratio = median(large.map(({ typical }, round) => typical / small[round].typical))
      lookups.push({ mix, small: timingOf(small), large: timingOf(large), ratio })
    }
  } finally {
    matcher.remove()
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
