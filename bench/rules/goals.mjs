// What Sluice promises about many rules, held against the figures of one run.

import { atMost } from "../harness/goals.mjs"
import { mixes } from "./cases.mjs"

/**
 * @param {import("./run.mjs").Figures} figures
 * @returns {import("../harness/goals.mjs").Verdict[]}
 */
export function judge({ lookups }) {
  return lookups.flatMap(({ mix, small, large }) => {
    const title = mixes.find(({ name }) => name === mix)?.title
    return [
      atMost(`${title}: a lookup in 10,000 rules against 10, median`, large.typical / small.typical, 2, "×"),
      atMost(`${title}: the same, 99th percentile`, large.p99 / small.p99, 2, "×"),
    ]
  })
}
