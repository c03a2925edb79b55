// The tables of settings and of metrics in docs/running.md: from the schema and from what a watch really exports.

import { readFileSync } from "node:fs"
import { join } from "node:path"
import { fields } from "../../packages/server/dist/config/fields.js"
import { createWatch } from "../../packages/server/dist/telemetry/index.js"
import { memoryStore } from "../../packages/sluice/dist/index.js"
import { objectRules } from "../../packages/sluice/dist/rules/index.js"
import { root } from "../root.mjs"

const page = "docs/running.md"

/** @returns {Record<string, string>} */
export function generate() {
  const text = readFileSync(join(root, page), "utf8")
  return { [page]: fill(fill(text, "settings", settings()), "metrics", metrics()) }
}

function fill(text, name, table) {
  const start = `<!-- ${name}: made by npm run generate, do not edit -->`
  const end = `<!-- end of ${name} -->`
  const from = text.indexOf(start)
  const to = text.indexOf(end)
  if (from < 0 || to < from) throw new Error(`${page} must hold the line "${start}" and after it "${end}"`)
  return `${text.slice(0, from + start.length)}\n\n${table}\n\n${text.slice(to)}`
}

function settings() {
  const rows = fields().map(({ path, kind, description = "", byDefault }) => {
    const shown = byDefault === undefined ? "" : `\`${JSON.stringify(byDefault)}\``
    return `| \`${path.join(".")}\` | ${kind} | ${shown} | ${description.replaceAll("|", "\\|")} |`
  })
  return ["| setting | value | default | |", "|---|---|---|---|", ...rows].join("\n")
}

function metrics() {
  const watch = createWatch()
  // With breakers as a store in Redis has them.
  const store = Object.assign(memoryStore(), { breakers: ["closed"], instances: 1 })
  watch.attach({
    store,
    rules: objectRules({ version: 1, rules: [] }),
    gateway: () => ({ targets: [], upgrades: 0 }),
  })
  const text = watch.metrics()
  watch.close()
  const rows = [...text.matchAll(/^# HELP (\w+) (.*)\n# TYPE \w+ (\w+)$/gm)].map(
    ([, name, help, type]) => `| \`${name}\` | ${type} | ${help} |`,
  )
  return ["| metric | kind | |", "|---|---|---|", ...rows].join("\n")
}
