// What Sluice promises about many rules, held against the figures of one run.

import { atMost } from "../harness/goals.mjs"
import { mixes } from "./cases.mjs"

/**
 * @param {import("./run.mjs").Figures} figures
 * @returns {import("../harness/goals.mjs").Verdict[]}
 */
export function judge({ lookups }) {
  // Of the median. The table shows the 99th percentile too, which waits for memory that ten rules never leave the cache of.
  return lookups.map(({ mix, ratio }) => {
    const title = mixes.find(({ name }) => name === mix)?.title
    return atMost(`${title}: a lookup in 10,000 rules against 10`, ratio, 2, "×")
  })
}
