// The figures of one run as tables.

import { goalTable, shown } from "../harness/goals.mjs"
import { mixes } from "./cases.mjs"

/** @typedef {import("../harness/table.mjs").Table} Table */
/** @typedef {import("./run.mjs").Figures} Figures */

/**
 * @param {Figures} figures
 * @param {readonly import("../harness/goals.mjs").Verdict[]} verdicts
 * @returns {Table[]}
 */
export function tables({ lookups }, verdicts) {
  return [
    {
      title: "Nanoseconds to find the rules a request meets",
      head: [
        "rules that differ by",
        "10 rules: median",
        "p99",
        "mean",
        "even",
        "10,000 rules: median",
        "p99",
        "mean",
        "even",
        "of 10 rules",
        "compiling them, ms",
      ],
      rows: lookups.map(({ mix, small, large, ratio }) => [
        mixes.find(({ name }) => name === mix)?.title ?? mix,
        ...columns(small),
        ...columns(large),
        `${shown(ratio)} ×`,
        shown(large.compileMs),
      ]),
      note: "Median of all rounds; the ratio is that of the medians in the same round. The mean ± half the distance between the quartiles of its rounds. Each request matches a rule drawn by Zipf's law, and in the last row the catch-alls too. For median and p99 every lookup is timed alone; the mean is taken over batches of 64. Even: the mean when every rule is drawn as often as any other, so that in a large set hardly any is in the cache.",
    },
    goalTable(verdicts),
  ]
}

/** @param {import("./run.mjs").Timing} timing */
function columns({ typical, p99, mean, spread, even }) {
  return [shown(typical), shown(p99), `${Math.round(mean)} ± ${Math.round(mean * spread)}`, shown(even)]
}

/** What is measured. @returns {Table} */
export function callTable() {
  return {
    title: "What is called",
    head: ["", "call", "what the caller gets"],
    rows: [
      [
        "sluice",
        "`compileMatcher(rules).match(request)`",
        "every rule that matches, in order, with its path parameters",
      ],
    ],
  }
}
