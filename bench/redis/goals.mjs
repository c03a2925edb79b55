// The goals of Sluice on Redis, compared with the figures of one run.

import { atLeast, atMost } from "../harness/goals.mjs"
import { timingCases } from "./cases.mjs"
import { contenderNamed, contenders, HOLDS, PROMISED, RESERVING } from "./contenders.mjs"

/** @typedef {import("../harness/goals.mjs").Verdict} Verdict */
/** @typedef {import("./run.mjs").Figures} Figures */

/** At least this many times the checks of the fastest peer, by checks in flight. @type {Record<number, number>} */
const RATIOS = { 1: 0.8, 64: 2.5, 512: 3 }
const MAX_SERVER_MICROS = 4
/** Server time of an acquire and its release, in checks of a token bucket. */
const MAX_HOLDS = 1.5
const peers = contenders.filter(({ kind }) => kind === "peer").map(({ name }) => name)

/**
 * Judges only what was measured.
 * @param {Figures} figures
 * @returns {Verdict[]}
 */
export function judge({ timings, bytes }) {
  /** @type {Verdict[]} */
  const verdicts = []
  for (const { name, keys, inFlight, answer } of timingCases) {
    if (answer === "denied") continue
    const timingOf = (/** @type {string} */ contender) =>
      timings.find((timing) => timing.case === name && timing.contender === contender)
    const own = timingOf(PROMISED)
    const fastest = Math.max(...peers.map((peer) => timingOf(peer)?.perSecond ?? 0))
    if (own === undefined || fastest === 0) continue
    const title = `${keys === "many" ? "many keys" : "one key"}, ${inFlight} in flight`
    verdicts.push(
      atLeast(
        `${title}: checks per second against the fastest peer`,
        own.perSecond / fastest,
        RATIOS[inFlight],
      ),
    )
    const holds = timingOf(HOLDS)
    if (holds !== undefined)
      verdicts.push(
        atMost(
          `${title}: server time of acquire and release against a check of a token bucket`,
          holds.serverMicros / own.serverMicros,
          MAX_HOLDS,
          "×",
        ),
      )
    if (inFlight === 512)
      verdicts.push(atMost(`${title}: server time per check`, own.serverMicros, MAX_SERVER_MICROS, "µs"))
  }
  const alone = timings.find((timing) => timing.case === "many-1" && timing.contender === RESERVING)
  if (alone !== undefined)
    verdicts.push(atMost("reserve and settle: calls to Redis", alone.callsPerCheck, 2, "calls"))
  return [...verdicts, ...bytesGoals(bytes)]
}

/**
 * @param {Figures["bytes"]} bytes
 * @returns {Verdict[]}
 */
function bytesGoals(bytes) {
  const own = bytes.find(({ contender }) => contender === PROMISED)
  const buckets = bytes.filter(
    ({ contender }) => peers.includes(contender) && contenderNamed(contender).isBucket,
  )
  if (own === undefined || buckets.length === 0) return []
  const smallest = Math.min(...buckets.map(({ perKey }) => perKey))
  return [
    atMost(
      "bytes per key against the smallest peer that keeps a token bucket",
      own.perKey,
      smallest,
      "bytes",
    ),
  ]
}
