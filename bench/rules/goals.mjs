// The goals for lookups among many rules.

import { atMost } from "../harness/goals.mjs"
import { mixes } from "./cases.mjs"

/**
 * @param {import("./run.mjs").Figures} figures
 * @returns {import("../harness/goals.mjs").Verdict[]}
 */
export function judge({ lookups }) {
  // The goal is about the median. The 99th percentile contains cache misses that a set of ten rules does not have.
  return lookups.map(({ mix, ratio }) => {
    const title = mixes.find(({ name }) => name === mix)?.title
    return atMost(`${title}: a lookup in 10,000 rules against 10`, ratio, 3, "×")
  })
}
