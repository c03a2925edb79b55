// The table in docs/algorithms.md that holds every algorithm against the exact log, on the traffic of the comparison picture.

import { readFileSync } from "node:fs"
import { join } from "node:path"
import { root } from "../root.mjs"
import { contenders } from "./pictures/contenders.mjs"
import { bytesPerKey, judge, passTimes, run, worstWindow } from "./pictures/measure.mjs"
import { BURSTY_MINUTES, burstyTraffic, LIMIT } from "./pictures/traffic.mjs"

const page = "docs/algorithms.md"
const start = "<!-- accuracy table: made by npm run generate, do not edit -->"
const end = "<!-- end of accuracy table -->"

/** @returns {Record<string, string>} */
export function generate() {
  const before = readFileSync(join(root, page), "utf8")
  const from = before.indexOf(start)
  const to = before.indexOf(end)
  if (from < 0 || to < from) throw new Error(`${page} must hold the line "${start}" and after it "${end}"`)
  return { [page]: `${before.slice(0, from + start.length)}\n\n${table()}\n${before.slice(to)}` }
}

function table() {
  const times = burstyTraffic()
  const rows = contenders.map(({ title, choice }) => {
    const passages = run(choice, times)
    const { admitted, wronglyDenied, wronglyAdmitted } = judge(passages)
    const worst = worstWindow(passTimes(passages)).total
    const cells = [admitted, wronglyDenied, wronglyAdmitted, worst, Math.max(0, worst - LIMIT), bytes(choice)]
    return `| ${title} | ${cells.join(" | ")} |`
  })
  return [
    `${LIMIT} per 60 s, ${times.length} requests in ${BURSTY_MINUTES} minutes:`,
    "",
    "| algorithm | admitted | wrongly denied | wrongly admitted | busiest 60 s | over the limit | bytes per key |",
    "|---|--:|--:|--:|--:|--:|--:|",
    ...rows,
    "",
  ].join("\n")
}

/** @param {import("./pictures/measure.mjs").Choice} choice */
function bytes(choice) {
  return Math.round(bytesPerKey(choice)).toLocaleString("en")
}
