// The figures of one run as tables.

import { goalTable, shown } from "../harness/goals.mjs"
import { IN_FLIGHT, MANY, timingCases } from "./cases.mjs"
import { contenderNamed, contenders, PROMISED } from "./contenders.mjs"

/** @typedef {import("../harness/table.mjs").Table} Table */
/** @typedef {import("./run.mjs").Figures} Figures */
/** @typedef {import("./run.mjs").Timing} Timing */

/**
 * @param {Figures} figures
 * @param {readonly import("../harness/goals.mjs").Verdict[]} verdicts
 * @returns {Table[]}
 */
export function tables(figures, verdicts) {
  return [
    throughputTable(figures),
    latencyTable(figures),
    costTable(figures),
    bytesTable(figures),
    goalTable(verdicts),
  ].filter(({ rows }) => rows.length > 0)
}

/**
 * @param {Figures} figures
 * @returns {Table}
 */
function throughputTable({ timings }) {
  const columns = timingCases.filter(({ name }) => timings.some((timing) => timing.case === name))
  return {
    title: "Checks per second",
    head: ["", ...columns.map(({ short }) => short)],
    rows: rowsOf(timings, (of) =>
      columns.map(({ name }) => {
        const timing = of(name)
        return timing === undefined
          ? ""
          : `${thousands(timing.perSecond)} ± ${Math.round(timing.spread * 100)} %`
      }),
    ),
    note:
      "Median of all rounds ± half the distance between the quartiles. In the head: keys, checks in flight. " +
      `Many: ${thousands(MANY)} keys in random order. All checks are allowed, except in the column "denied", where none is.${secondConnection(timings)}`,
  }
}

/**
 * @param {Figures} figures
 * @returns {Table}
 */
function latencyTable({ timings }) {
  const columns = IN_FLIGHT.filter((n) => timings.some((timing) => timing.case === `many-${n}`))
  return {
    title: "Milliseconds until the answer, many keys",
    head: ["", ...columns.flatMap((n) => [`p50, ${n}`, `p99, ${n}`])],
    rows: rowsOf(timings, (of) =>
      columns.flatMap((n) => {
        const timing = of(`many-${n}`)
        return timing === undefined ? ["", ""] : [shown(timing.p50Ms), shown(timing.p99Ms)]
      }),
    ),
    note: "The number of checks in flight is constant, so more checks per second mean a shorter wait for each.",
  }
}

/**
 * @param {Figures} figures
 * @returns {Table}
 */
function costTable({ timings }) {
  const script = ["many-1", "many-64", "many-512", "one-512"].filter((name) =>
    timings.some((timing) => timing.case === name),
  )
  const crowd = script.filter((name) => name === "many-512")
  return {
    title: "What a check costs, in microseconds",
    head: [
      "",
      ...script.map((name) => `script: ${name.replace("-", ", ")}`),
      ...crowd.flatMap(() => ["server: many, 512", "client: many, 512", "calls: many, 512"]),
    ],
    rows: rowsOf(timings, (of) => [
      ...script.map((name) => cell(of(name)?.serverMicros)),
      ...crowd.flatMap((name) => {
        const timing = of(name)
        return [timing?.serverCpuMicros, timing?.clientCpuMicros, timing?.callsPerCheck].map(cell)
      }),
    ]),
    note: "Script: the time commands ran on the server by its own count (INFO commandstats), per check. Server and client: processor time of the whole process per check, reading and writing included. Calls: commands sent per check.",
  }
}

/** @param {number | undefined} value */
function cell(value) {
  return value === undefined ? "" : shown(value)
}

/**
 * @param {Figures} figures
 * @returns {Table}
 */
function bytesTable({ bytes }) {
  return {
    title: "Bytes per key in Redis",
    head: [
      "",
      "MEMORY USAGE",
      "used_memory grew by",
      "keys per client",
      "the key of user:10000",
      "what is kept",
    ],
    rows: bytes.map(({ contender, perKey, grownPerKey, keysPerClient, key }) => [
      contender,
      shown(perKey),
      shown(grownPerKey),
      shown(keysPerClient),
      `\`${key}\``,
      contenderNamed(contender).state,
    ]),
    note: `After one check of each of ${thousands(MANY)} clients, 100 a minute, with default prefixes. MEMORY USAGE is the mean of 100 keys; the growth of used_memory, per client, includes the server's tables of keys and expiries.`,
  }
}

/** The contenders, and the call of each that is measured. @returns {Table} */
export function callTable() {
  return {
    title: "What is called",
    head: ["", "call"],
    rows: contenders.map(({ name, call }) => [name, call]),
  }
}

/**
 * @param {readonly Timing[]} timings
 * @param {(of: (caseName: string) => Timing | undefined) => string[]} cells
 */
function rowsOf(timings, cells) {
  return contenders
    .filter(({ name }) => timings.some(({ contender }) => contender === name))
    .map(({ name }) => [
      name,
      ...cells((caseName) => timings.find((t) => t.case === caseName && t.contender === name)),
    ])
}

/** @param {readonly Timing[]} timings */
function secondConnection(timings) {
  const of = (/** @type {string} */ contender) =>
    timings.find((t) => t.case === "many-512" && t.contender === contender)?.perSecond
  const two = of("sluice token-bucket, 2 connections")
  const one = of(PROMISED)
  return one && two ? ` A second connection at 512: ${shown(two / one)} × one.` : ""
}

/** @param {number} value */
function thousands(value) {
  return Math.round(value).toLocaleString("en-US")
}
