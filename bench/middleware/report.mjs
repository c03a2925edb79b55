// The figures of one run as tables.

import { goalTable, shown } from "../harness/goals.mjs"
import { contenders } from "./contenders.mjs"

/** @typedef {import("../harness/table.mjs").Table} Table */
/** @typedef {import("./run.mjs").Figures} Figures */

/**
 * @param {Figures} figures
 * @param {readonly import("../harness/goals.mjs").Verdict[]} verdicts
 * @returns {Table[]}
 */
export function tables({ timings }, verdicts) {
  return [
    {
      title: "Requests per second, and what the middleware takes",
      head: ["", "requests per second", "lost", "processor µs per request", "more than bare"],
      rows: timings.map(({ framework, contender, perSecond, spread, lost, cpuMicros }) => [
        `${framework}, ${contender}`,
        `${Math.round(perSecond).toLocaleString("en-US")} ± ${Math.round(spread * 100)} %`,
        contender === "bare" ? "" : `${shown(lost)} %`,
        shown(cpuMicros),
        contender === "bare" ? "" : `${shown(100 * (cpuMicros / bareMicros(timings, framework) - 1))} %`,
      ]),
      note: "Median of all rounds ± half the distance between the quartiles. Lost: against the bare framework in the same round. Processor time is that of the whole server process; on a busy machine it says more than requests per second do.",
    },
    goalTable(verdicts),
  ].filter(({ rows }) => rows.length > 0)
}

/**
 * @param {Figures["timings"]} timings
 * @param {string} framework
 */
function bareMicros(timings, framework) {
  return timings.find((t) => t.framework === framework && t.contender === "bare")?.cpuMicros ?? Number.NaN
}

/** What is measured of whom. @returns {Table} */
export function callTable() {
  return {
    title: "What is added to the application",
    head: ["", "call", "headers on each answer"],
    rows: contenders.map(({ framework, name, call, headers }) => [`${framework}, ${name}`, call, headers]),
  }
}
