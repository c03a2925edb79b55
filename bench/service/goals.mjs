// What Sluice promises of its service, held against the figures of one run.

import { atLeast, atMost } from "../harness/goals.mjs"
import { BATCH } from "./cases.mjs"

/** @typedef {import("../harness/goals.mjs").Verdict} Verdict */
/** @typedef {import("./run.mjs").Figures} Figures */

/** @type {Record<string, { goal: string, least: number }>} */
const RATIOS = {
  http: { goal: "HTTP checks, of a bare node:http server's answers", least: 0.95 },
  batch: { goal: `checks in batches of ${BATCH}, of single checks`, least: 10 },
  grpc: { goal: "gRPC ShouldRateLimit, of a bare @grpc/grpc-js unary call", least: 1.7 },
  resp: { goal: "RESP CL.THROTTLE, of redis-server's INCR", least: 0.9 },
}
const MOST_P99 = 2
/** Of the middle third of the run, in the last: pages that the collector has not given back yet come and go. */
const FLAT = 1.1

/**
 * Only what was measured is judged.
 * @param {Figures} figures
 * @returns {Verdict[]}
 */
export function judge({ timings, latencies, memory }) {
  const verdicts = timings.flatMap(({ case: name, ratio }) => {
    const { goal, least } = RATIOS[name]
    return ratio === undefined ? [] : [atLeast(goal, ratio, least)]
  })
  const [sluice, bare] = latencies
  if (sluice && bare)
    verdicts.push(atMost("p99 at half load, of the bare server's", sluice.p99Ms / bare.p99Ms, MOST_P99, "×"))
  if (memory)
    verdicts.push(
      atMost(
        `memory after ${memory.seconds} s at full load, of before`,
        memory.lateMiB / memory.earlyMiB,
        FLAT,
        "×",
      ),
    )
  return verdicts
}
