// The figures of one run as tables.

import { goalTable, shown } from "../harness/goals.mjs"
import { contenders } from "./cases.mjs"

/** @typedef {import("../harness/table.mjs").Table} Table */
/** @typedef {import("./run.mjs").Figures} Figures */

/** @type {Record<string, string>} */
const TITLES = {
  forward: "Requests through a proxy on one core",
  check: "What the check costs",
  denied: "Denied requests",
}

/**
 * @param {Figures} figures
 * @param {readonly import("../harness/goals.mjs").Verdict[]} verdicts
 * @returns {Table[]}
 */
export function tables({ timings }, verdicts) {
  const names = [...new Set(timings.map((one) => one.case))]
  return [
    ...names.map((name) => ({
      title: TITLES[name],
      head: ["", "per second", "of sluice", "p50", "p99", "processor µs each"],
      rows: timings
        .filter((one) => one.case === name)
        .map(({ contender, perSecond, spread, ratio, p50Ms, p99Ms, cpuMicros }) => [
          contender,
          `${Math.round(perSecond).toLocaleString("en-US")} ± ${Math.round(spread * 100)} %`,
          `${shown(ratio)} ×`,
          `${shown(p50Ms)} ms`,
          `${shown(p99Ms)} ms`,
          cpuMicros === undefined ? "" : shown(cpuMicros),
        ]),
      ...(name === names.at(-1) ? { note: NOTE } : {}),
    })),
    goalTable(verdicts),
  ].filter(({ rows }) => rows.length > 0)
}

const NOTE =
  "Median of all rounds ± half the distance between the quartiles; ratios are those of the same round. Latencies are those at full load, with 64 requests in flight. If a proxy also saturates the core of the backend and wrk, compare its processor time instead of its requests per second."

/** The contenders, and the call of each that is measured. @returns {Table} */
export function callTable() {
  return {
    title: "Who is measured",
    head: ["", "what"],
    rows: contenders.map(({ name, what }) => [name, what]),
  }
}
