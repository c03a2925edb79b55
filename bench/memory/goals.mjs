// What Sluice promises in memory, held against the figures of one run.

import { atLeast, atMost } from "../harness/goals.mjs"
import { answers, timingCases } from "./cases.mjs"
import { contenders, HOLDS } from "./contenders.mjs"

/** @typedef {import("../harness/goals.mjs").Verdict} Verdict */
/** @typedef {import("./run.mjs").Figures} Figures */

const FLEXIBLE = "rate-limiter-flexible"
const PROMISED = ["token-bucket", "sliding-window-counter"]
/** Checks of a token bucket in the time of an acquire and its release. */
const MAX_HOLDS = 2.5
const peers = contenders.filter(({ kind }) => kind === "peer").map(({ name }) => name)

/**
 * Judges only what was measured.
 * @param {Figures} figures
 * @returns {Verdict[]}
 */
export function judge(figures) {
  return [...timingGoals(figures), ...bytesGoals(figures), ...otherGoals(figures)]
}

/**
 * @param {Figures} figures
 * @returns {Verdict[]}
 */
function timingGoals({ timings }) {
  /** @type {Verdict[]} */
  const verdicts = []
  for (const { name: caseName, title } of timingCases()) {
    for (const answer of answers) {
      const ns = (/** @type {string} */ contender) =>
        timings.find((t) => t.case === caseName && t.answer === answer && t.contender === contender)?.ns ??
        Number.NaN
      const fastestPeer = Math.min(...peers.map(ns).filter((value) => !Number.isNaN(value)))
      const add = (
        /** @type {string} */ who,
        /** @type {string} */ than,
        /** @type {number} */ ratio,
        /** @type {number} */ target,
      ) => {
        if (Number.isFinite(ratio))
          verdicts.push(atLeast(`${title}, ${answer}: ${who} against ${than}`, ratio, target))
      }
      const holds = ns(HOLDS) / ns("sluice token-bucket, async")
      if (answer === "allowed" && Number.isFinite(holds))
        verdicts.push(
          atMost(`${title}: acquire and release against a check of a token bucket`, holds, MAX_HOLDS, "×"),
        )
      for (const algorithm of PROMISED) {
        const own = ns(`sluice ${algorithm}`)
        if (caseName === "hot") add(algorithm, "the fastest peer", fastestPeer / own, 1)
        if (caseName === "1m") {
          add(algorithm, "the fastest peer", fastestPeer / own, 2.5)
          add(algorithm, FLEXIBLE, ns(FLEXIBLE) / own, 4)
        }
        add(`${algorithm}, async`, FLEXIBLE, ns(FLEXIBLE) / ns(`sluice ${algorithm}, async`), 2)
      }
    }
  }
  return verdicts
}

/**
 * @param {Figures} figures
 * @returns {Verdict[]}
 */
function bytesGoals({ bytes }) {
  return bytes
    .filter(({ contender }) => PROMISED.some((algorithm) => contender === `sluice ${algorithm}`))
    .map(({ contender, keys, bytesPerKey }) =>
      atMost(
        `memory per key at ${keys.toLocaleString("en-US")} keys: ${contender}`,
        bytesPerKey,
        48,
        "bytes",
      ),
    )
}

/**
 * @param {Figures} figures
 * @returns {Verdict[]}
 */
function otherGoals({ growth, slidingLog, flood }) {
  const verdicts = growth.map(({ algorithm, keys, longestMs }) =>
    atMost(
      `longest check while growing to ${keys.toLocaleString("en-US")} keys: ${algorithm}`,
      longestMs,
      5,
      "ms",
    ),
  )
  if (slidingLog) {
    const checks = slidingLog.checks.toLocaleString("en-US")
    verdicts.push(atMost(`${checks} checks of a sliding log of ${checks}, warm`, slidingLog.warmMs, 10, "ms"))
  }
  if (flood) {
    const { wrong, steps, distinctKeys } = flood
    const title = `flood of distinct keys, maxKeys ${flood.maxKeys.toLocaleString("en-US")}`
    verdicts.push(
      atLeast(`${title}: decided in three minutes`, steps.at(-1)?.checks ?? 0, distinctKeys, "keys"),
    )
    verdicts.push(
      atMost(
        `${title}: wrong decisions`,
        Object.values(wrong).reduce((a, b) => a + b, 0),
        0,
        "",
      ),
    )
    // The first steps fill the store; from the third on there is nothing left to grow.
    const full = steps.slice(2).map(({ rssMiB }) => rssMiB)
    verdicts.push(
      atMost(
        `${title}: memory gained after the store was full`,
        (full.at(-1) ?? Number.NaN) - full[0],
        8,
        "MiB",
      ),
    )
  }
  return verdicts
}
