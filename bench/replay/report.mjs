// The figures of one run as tables.

import { goalTable, shown } from "../harness/goals.mjs"
import { cases } from "./cases.mjs"

/** @typedef {import("../harness/table.mjs").Table} Table */

/**
 * @param {import("./run.mjs").Figures} figures
 * @param {readonly import("../harness/goals.mjs").Verdict[]} verdicts
 * @returns {Table[]}
 */
export function tables({ speeds, memory, pinned }, verdicts) {
  return [
    ...(speeds.length === 0 ? [] : [speedTable(speeds, pinned)]),
    ...(memory === undefined ? [] : [memoryTable(memory)]),
    goalTable(verdicts),
  ]
}

/**
 * @param {readonly import("./run.mjs").Speed[]} speeds
 * @param {boolean} pinned
 * @returns {Table}
 */
function speedTable(speeds, pinned) {
  const where = pinned ? "The whole process stays on one core." : "The process may use every core."
  return {
    title: "A log replayed through three rules",
    head: ["format", "lines", "MB", "lines per second", "per second of CPU", "MB per second", "denied"],
    rows: speeds.map(({ name, lines, bytes, linesPerSecond, linesPerCpuSecond, spread, denied }) => [
      cases.find((format) => format.name === name)?.title ?? name,
      shown(lines),
      shown(bytes / 1e6),
      `${shown(linesPerSecond)} ± ${shown(linesPerSecond * spread)}`,
      shown(linesPerCpuSecond),
      shown(((bytes / lines) * linesPerSecond) / 1e6),
      shown(denied),
    ]),
    note: `Median of the runs, ± half the distance between their quartiles; each in a process of its own that has replayed a shorter log before. ${where} MB are those of the file.`,
  }
}

/**
 * @param {{ small: import("./run.mjs").Memory, large: import("./run.mjs").Memory }} memory
 * @returns {Table}
 */
function memoryTable({ small, large }) {
  return {
    title: "Peak memory of the process",
    head: ["lines", "MB of log", "MB of memory"],
    rows: [small, large].map(({ lines, bytes, peakBytes }) => [
      shown(lines),
      shown(bytes / 1e6),
      shown(peakBytes / 1e6),
    ]),
  }
}

/** What is measured. @returns {Table} */
export function callTable() {
  return {
    title: "What is called",
    head: ["", "call", "what the caller gets"],
    rows: [
      [
        "sluice",
        "`replay(chunks, { rules })`",
        "the whole report; one rule matches every request, one a third of them, one a hundredth",
      ],
    ],
  }
}
