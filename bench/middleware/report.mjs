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
    figureTable("Requests per second, and what the middleware takes", "settled", timings),
    figureTable("The same before they were ever idle", "fresh", timings),
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
    rows: timings.map(({ framework, contender, [state]: { perSecond, spread, lost, cpuMicros } }) => [
      `${framework}, ${contender}`,
      `${Math.round(perSecond).toLocaleString("en-US")} ± ${Math.round(spread * 100)} %`,
      contender === "bare" ? "" : `${shown(lost)} %`,
      shown(cpuMicros),
      contender === "bare" ? "" : `${shown(100 * (cpuMicros / bareMicros(framework) - 1))} %`,
    ]),
    note: NOTES[state],
  }
}

const NOTES = {
  settled:
    "Median of all rounds ± half the distance between the quartiles. Lost: against the bare framework in the same round; less than nothing is a gain. Processor time is that of the whole server process; on a busy machine it says more than requests per second do.",
  fresh:
    "Of the same processes, under load from their start. No goal is about these: few servers stay like this, and which of them are quick is a matter of when their first collections fall.",
}

/** What is measured of whom. @returns {Table} */
export function callTable() {
  return {
    title: "What is added to the application",
    head: ["", "call", "headers on each answer"],
    rows: contenders.map(({ framework, name, call, headers }) => [`${framework}, ${name}`, call, headers]),
  }
}
