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
    figureTable("Fresh: requests per second, and what the middleware takes", "fresh", timings),
    figureTable("Settled: the same processes after they were idle", "settled", timings),
    goalTable(verdicts),
  ].filter(({ rows }) => rows.length > 0)
}

/**
 * @param {string} title
 * @param {"fresh" | "settled"} state
 * @param {Figures["timings"]} timings
 * @returns {Table}
 */
function figureTable(title, state, timings) {
  /** @param {string} framework */
  const bareMicros = (framework) =>
    timings.find((t) => t.framework === framework && t.contender === "bare")?.[state].cpuMicros ?? Number.NaN
  return {
    title,
    head: ["", "requests per second", "lost", "processor µs per request", "more than bare"],
    rows: timings.map(
      ({ framework, contender, [state]: { perSecond, spread, lost, lostError, cpuMicros } }) => [
        `${framework}, ${contender}`,
        `${Math.round(perSecond).toLocaleString("en-US")} ± ${Math.round(spread * 100)} %`,
        contender === "bare"
          ? ""
          : `${lost.toFixed(1)}${Number.isNaN(lostError) ? "" : ` ± ${lostError.toFixed(1)}`} %`,
        shown(cpuMicros),
        contender === "bare" ? "" : `${shown(100 * (cpuMicros / bareMicros(framework) - 1))} %`,
      ],
    ),
    note: NOTES[state],
  }
}

const NOTES = {
  fresh:
    "Requests per second: median of all slices ± half the distance between the quartiles. Lost: against the bare framework in the same round; mean of all generations of processes ± its standard error. Processor time is that of the whole server process.",
  settled:
    "After full collections of an idle process, V8 creates the records of `process.nextTick` several times more slowly, in every application alike.",
}

/** The contenders, and the call of each that is measured. @returns {Table} */
export function callTable() {
  return {
    title: "What is added to the application",
    head: ["", "call", "headers on each answer"],
    rows: contenders.map(({ framework, name, call, headers }) => [`${framework}, ${name}`, call, headers]),
  }
}
