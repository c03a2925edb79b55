// The goals of the service, compared with the figures of one run.

import { atLeast, atMost } from "../harness/goals.mjs"
import { BATCH } from "./cases.mjs"

/** @typedef {import("../harness/goals.mjs").Verdict} Verdict */
/** @typedef {import("./run.mjs").Figures} Figures */

/** @type {Record<string, { goal: string, least: number }>} */
const RATIOS = {
  http: { goal: "HTTP checks, of a bare node:http server's answers", least: 1.3 },
  batch: { goal: `checks in batches of ${BATCH}, of single checks`, least: 8 },
  grpc: { goal: "gRPC ShouldRateLimit, of a bare @grpc/grpc-js unary call", least: 5 },
  resp: { goal: "RESP CL.THROTTLE, of redis-server's INCR", least: 0.9 },
}
const MAX_P99 = 2
/** How much more memory the last third of the run may use than the middle third: the collector gives pages back late. */
const MAX_GROWTH = 1.1

/**
 * Judges the cases that the run measured.
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
    verdicts.push(atMost("p99 at half load, of the bare server's", sluice.p99Ms / bare.p99Ms, MAX_P99, "×"))
  if (memory)
    verdicts.push(
      atMost(
        `memory after ${memory.seconds} s at full load, of before`,
        memory.lateMiB / memory.earlyMiB,
        MAX_GROWTH,
        "×",
      ),
    )
  return verdicts
}
