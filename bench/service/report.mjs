// The figures of one run as tables.

import { goalTable, shown } from "../harness/goals.mjs"
import { contenders } from "./cases.mjs"

/** @typedef {import("../harness/table.mjs").Table} Table */
/** @typedef {import("./run.mjs").Figures} Figures */

/** @type {Record<string, [sluice: string, bare: string]>} */
const NAMES = {
  http: ["HTTP, sluice: single checks", "HTTP, bare node:http with the same bytes"],
  batch: ["HTTP, sluice: batches of 100", "HTTP, sluice: single checks"],
  grpc: ["gRPC, sluice: ShouldRateLimit", "gRPC, bare @grpc/grpc-js"],
  resp: ["RESP, sluice: CL.THROTTLE", "RESP, redis-server: INCR"],
}

/**
 * @param {Figures} figures
 * @param {readonly import("../harness/goals.mjs").Verdict[]} verdicts
 * @returns {Table[]}
 */
export function tables({ timings, latencies, memory }, verdicts) {
  return [
    {
      title: "Answers per second on one core",
      head: ["", "per second", "ratio", "processor µs each"],
      rows: timings.map(({ case: name, contender, perSecond, spread, ratio, cpuMicros }) => [
        NAMES[name][contender === "sluice" ? 0 : 1],
        `${Math.round(perSecond).toLocaleString("en-US")} ± ${Math.round(spread * 100)} %`,
        ratio === undefined ? "" : `${shown(ratio)} ×`,
        cpuMicros === undefined ? "" : shown(cpuMicros),
      ]),
      note: "Median of all rounds ± half the distance between the quartiles; the ratio is that of the same round. In batches, each check counts. Processor time is that of the whole server process; on a busy machine, compare it instead of the answers per second.",
    },
    {
      title: "Latency at half load",
      head: ["", "requests per second", "p50", "p99"],
      rows: latencies.map(({ contender, perSecond, p50Ms, p99Ms }) => [
        contender === "sluice" ? "sluice" : "bare node:http",
        perSecond.toLocaleString("en-US"),
        `${shown(p50Ms)} ms`,
        `${shown(p99Ms)} ms`,
      ]),
      note: "The time from the moment at which a request was due to its answer, at half the highest rate of the slower server.",
    },
    {
      title: "Memory at full load",
      head: ["", "seconds", "middle third", "last third"],
      rows: memory
        ? [
            [
              "sluice",
              String(memory.seconds),
              `${shown(memory.earlyMiB)} MiB`,
              `${shown(memory.lateMiB)} MiB`,
            ],
          ]
        : [],
    },
    goalTable(verdicts),
  ].filter(({ rows }) => rows.length > 0)
}

/** The contenders, and the call of each that is measured. @returns {Table} */
export function callTable() {
  return {
    title: "Who is measured",
    head: ["", "what"],
    rows: contenders.map(({ name, what }) => [name, what]),
  }
}
