// The tables in docs/ that are generated: settings, library options and metrics in running.md, the comparison of algorithms in algorithms.md.

import { readFileSync } from "node:fs"
import { join } from "node:path"
import { fields } from "../../packages/server/dist/config/fields.js"
import { LIBRARY_OPTIONS } from "../../packages/server/dist/config/library-options.js"
import { createWatch } from "../../packages/server/dist/telemetry/hub.js"
import { memoryStore } from "../../packages/sluice/dist/index.js"
import { objectRules } from "../../packages/sluice/dist/rules/index.js"
import { root } from "../root.mjs"
import { bytesPerKey, comparedAlgorithms, judge, passTimes, run, worstWindow } from "./pictures/measure.mjs"
import { BURSTY_MINUTES, burstyTraffic, LIMIT } from "./pictures/traffic.mjs"

/** @returns {Record<string, string>} */
export function generate() {
  return {
    "docs/algorithms.md": withTables("docs/algorithms.md", { "accuracy table": accuracy() }),
    "docs/running.md": withTables("docs/running.md", {
      settings: settings(),
      "library options": libraryOptions(),
      metrics: metrics(),
    }),
  }
}

/**
 * The text of a page with new tables between the comments that mark them.
 * @param {string} page @param {Record<string, string>} tables by the name in the comments
 */
function withTables(page, tables) {
  let text = readFileSync(join(root, page), "utf8")
  for (const [name, table] of Object.entries(tables)) {
    const start = `<!-- ${name}: made by npm run generate, do not edit -->`
    const end = `<!-- end of ${name} -->`
    const from = text.indexOf(start)
    const to = text.indexOf(end)
    if (from < 0 || to < from)
      throw new Error(`${page} must contain the line "${start}" and after it "${end}"`)
    text = `${text.slice(0, from + start.length)}\n\n${table}\n\n${text.slice(to)}`
  }
  return text
}

function settings() {
  const rows = fields().map(({ path, kind, description = "", byDefault }) => {
    const shown = byDefault === undefined ? "" : `\`${JSON.stringify(byDefault)}\``
    return `| \`${path.join(".")}\` | ${kind} | ${shown} | ${description.replaceAll("|", "\\|")} |`
  })
  return ["| setting | value | default | |", "|---|---|---|---|", ...rows].join("\n")
}

function libraryOptions() {
  const rows = Object.entries(LIBRARY_OPTIONS).flatMap(([taker, options]) =>
    Object.entries(options).map(([name, place]) => {
      const shown = "setting" in place ? `\`${place.setting}\`` : place.reason
      return `| \`${taker}\` | \`${name}\` | ${shown} |`
    }),
  )
  return ["| function | option | setting, or why there is none |", "|---|---|---|", ...rows].join("\n")
}

function metrics() {
  const watch = createWatch()
  // A store in Redis has breakers, and their metrics belong into the table.
  const store = Object.assign(memoryStore(), { breakers: ["closed"], instances: 1 })
  watch.attach({
    store,
    rules: objectRules({ version: 1, rules: [] }),
    gateway: () => ({ targets: [], upgrades: 0 }),
    leases: () => ({
      keys: 0,
      held: 0,
      spent: 0,
      returned: 0,
      wasted: 0,
      answered: 0,
      calls: 0,
      callsSaved: 0,
    }),
  })
  const text = watch.metrics()
  watch.close()
  const rows = [...text.matchAll(/^# HELP (\w+) (.*)\n# TYPE \w+ (\w+)$/gm)].map(
    ([, name, help, type]) => `| \`${name}\` | ${type} | ${help} |`,
  )
  return ["| metric | kind | |", "|---|---|---|", ...rows].join("\n")
}

/** Compares every algorithm with the exact log, on the traffic of the comparison picture. */
function accuracy() {
  const times = burstyTraffic()
  const rows = comparedAlgorithms.map(({ title, choice }) => {
    const passages = run(choice, times)
    const { admitted, wronglyDenied, wronglyAdmitted } = judge(passages)
    const worst = worstWindow(passTimes(passages)).total
    const bytes = Math.round(bytesPerKey(choice)).toLocaleString("en")
    const cells = [admitted, wronglyDenied, wronglyAdmitted, worst, Math.max(0, worst - LIMIT), bytes]
    return `| ${title} | ${cells.join(" | ")} |`
  })
  return [
    `${LIMIT} per 60 s, ${times.length} requests in ${BURSTY_MINUTES} minutes:`,
    "",
    "| algorithm | admitted | wrongly denied | wrongly admitted | busiest 60 s | over the limit | bytes per key |",
    "|---|--:|--:|--:|--:|--:|--:|",
    ...rows,
  ].join("\n")
}
