// The figures of one run as tables.

import { goalTable, shown } from "../harness/goals.mjs"
import { answers, timingCases } from "./cases.mjs"
import { contenders } from "./contenders.mjs"

/** @typedef {import("../harness/table.mjs").Table} Table */
/** @typedef {import("./run.mjs").Figures} Figures */

/**
 * @param {Figures} figures
 * @param {readonly import("../harness/goals.mjs").Verdict[]} verdicts
 * @returns {Table[]}
 */
export function tables(figures, verdicts) {
  return [
    timingTable(figures),
    bytesTable(figures),
    growthTable(figures),
    logTable(figures),
    floodTable(figures),
    goalTable(verdicts),
  ].filter(({ rows }) => rows.length > 0)
}

/**
 * @param {Figures} figures
 * @returns {Table}
 */
function timingTable({ timings }) {
  const columns = timingCases()
    .flatMap(({ name, short }) => answers.map((answer) => ({ name, answer, head: `${short} ${answer}` })))
    .filter(({ name, answer }) => timings.some((t) => t.case === name && t.answer === answer))
  const measured = contenders.filter(({ name }) => timings.some(({ contender }) => contender === name))
  return {
    title: "Nanoseconds per call",
    head: ["", ...columns.map(({ head }) => head)],
    rows: measured.map(({ name: contender }) => [
      contender,
      ...columns.map(({ name, answer }) => {
        const timing = timings.find(
          (t) => t.case === name && t.answer === answer && t.contender === contender,
        )
        return timing === undefined
          ? ""
          : `${Math.round(timing.ns)} ± ${Math.round(timing.ns * timing.spread)}`
      }),
    ]),
    note: `Median of all rounds ± half the distance between the quartiles. ${timingCases()
      .map(({ short, title }) => `${short}: ${title}`)
      .join("; ")}. Building the key is included.`,
  }
}

/**
 * @param {Figures} figures
 * @returns {Table}
 */
function bytesTable({ bytes }) {
  return {
    title: `Bytes per key at ${thousands(bytes[0]?.keys)} keys`,
    head: ["", "heap and buffers", "resident memory"],
    rows: bytes.map(({ contender, bytesPerKey, rssPerKey }) => [
      contender,
      shown(bytesPerKey),
      shown(rssPerKey),
    ]),
  }
}

/**
 * @param {Figures} figures
 * @returns {Table}
 */
function growthTable({ growth }) {
  return {
    title: `Longest single check while growing to ${thousands(growth[0]?.keys)} keys`,
    head: ["", "median of runs, ms", "each run, ms", "an empty call, ms", "most bytes per key on the way"],
    rows: growth.map(({ algorithm, longestMs, runs, controlMs, worstBytesPerKey }) => [
      `sluice ${algorithm}`,
      shown(longestMs),
      runs.map(shown).join(", "),
      shown(controlMs),
      shown(worstBytesPerKey),
    ]),
    note: "Pauses of the collector and of the machine are included; the empty call shows the longest of these pauses. The bytes are the store's own count from 100,000 keys on, while an old and a new table exist side by side.",
  }
}

/**
 * @param {Figures} figures
 * @returns {Table}
 */
function logTable({ slidingLog }) {
  return {
    title: "Filling one exact sliding log, every check at its own microsecond",
    head: ["", "checks", "warm, ms", "first in the process, ms"],
    rows: slidingLog
      ? [
          [
            "sluice sliding-window-log",
            thousands(slidingLog.checks),
            shown(slidingLog.warmMs),
            shown(slidingLog.coldMs),
          ],
        ]
      : [],
  }
}

/**
 * @param {Figures} figures
 * @returns {Table}
 */
function floodTable({ flood }) {
  if (!flood) return { title: "", head: [], rows: [] }
  const { checked, wrong } = flood
  return {
    title: `${thousands(flood.distinctKeys)} distinct keys against maxKeys ${thousands(flood.maxKeys)}`,
    head: ["keys so far", "resident memory, MiB", "keys held", "ns per check"],
    rows: flood.steps.map(({ checks, rssMiB, heldKeys, nsPerCheck }) => [
      thousands(checks),
      rssMiB.toFixed(1),
      thousands(heldKeys),
      shown(nsPerCheck),
    ]),
    note:
      `${thousands(flood.evicted)} keys pushed out, ${thousands(flood.refused)} refused. ` +
      `Wrong decisions: ${wrong.limited} and ${wrong.halfUsed} on ${checked.watched} keys that were limited or more than half used before the flood ` +
      `(asked after every step), ${wrong.visitors} on ${checked.visitors} clients that used up their limit during it, ` +
      `${wrong.fresh} on ${thousands(checked.fresh)} new keys.`,
  }
}

/** The contenders, and the call of each that is measured. @returns {Table} */
export function callTable() {
  return {
    title: "What is called",
    head: ["", "call", "what the caller gets"],
    rows: contenders.map(({ name, call, returns }) => [name, call, returns]),
  }
}

/** @param {number | undefined} value */
function thousands(value) {
  return value?.toLocaleString("en-US") ?? ""
}
