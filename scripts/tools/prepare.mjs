// Finds or downloads the tools that the selected test files need. `npm test` runs this file as a process beside its other steps,
// and receives the result as a message before any test runs.

import { pathToFileURL } from "node:url"
import { ensureTools, explain } from "./ensure.mjs"
import { selectedFiles, testFiles, toolsOf } from "./needs.mjs"
import { tools, variableOf } from "./table.mjs"

/** How many file names a message lists. */
const MAX_LISTED = 5

/**
 * @typedef {object} Prepared
 * @property {Record<string, string>} variables environment variables by which the tests find the tools
 * @property {string[]} missing the required tools that are missing
 * @property {string[]} notRun for each missing optional tool, a message that names the tests that do not run
 * @property {string | undefined} problem a message about the missing required tools
 * @property {string[]} skippedFiles the test files that need a missing tool
 * @property {boolean} hasTestsToRun whether any other test file is selected
 * @property {string} note
 */

/**
 * @param {readonly string[]} selection the words after `npm test --`
 * @param {(line: string) => void} say
 * @param {typeof ensureTools} [ensure] @param {Map<string, Set<string>>} [needs]
 * @returns {Prepared}
 */
export function prepareTools(
  selection,
  say,
  ensure = ensureTools,
  needs = toolsOf(selectedFiles(testFiles(), selection)),
) {
  const names = [...new Set([...needs.values()].flatMap((tools) => [...tools]))].sort()
  const started = performance.now()
  const { paths, fetched, missing: absent } = ensure(names, { say })
  const missing = absent.filter(({ name }) => tools[name]?.optional === undefined)
  const optional = absent.filter(({ name }) => tools[name]?.optional !== undefined)
  const seconds = ((performance.now() - started) / 1000).toFixed(1)
  const filesFor = (/** @type {string} */ name) =>
    [...needs].flatMap(([file, tools]) => (tools.has(name) ? [file] : []))
  const skippedFiles = [...new Set(absent.flatMap(({ name }) => filesFor(name)))]
  const problem =
    missing.length === 0
      ? undefined
      : [explain(missing), ...missing.map(({ name }) => `${notRun(name, filesFor(name))}.`)].join("\n")
  const here = Object.keys(paths).filter((name) => !fetched.includes(name))
  const parts = [
    `${here.length} found`,
    ...(fetched.length > 0 ? [`downloaded ${fetched.join(", ")}`] : []),
    ...(missing.length > 0 ? [`missing ${missing.map(({ name }) => name).join(", ")}`] : []),
    ...(optional.length > 0 ? [`without ${optional.map(({ name }) => name).join(", ")}`] : []),
  ]
  const note = names.length === 0 ? "none needed" : parts.join(", ")
  say(`${note}, in ${seconds} s`)
  for (const [name, path] of Object.entries(paths)) say(`  ${name.padEnd(16)} ${path}`)
  return {
    variables: Object.fromEntries(Object.entries(paths).map(([name, path]) => [variableOf(name), path])),
    missing: missing.map(({ name }) => name),
    notRun: optional.map(
      ({ name, reason }) =>
        `${notRun(name, filesFor(name))} (${name} ${reason}). To run it: ${tools[name].optional}`,
    ),
    problem,
    skippedFiles,
    hasTestsToRun: skippedFiles.length === 0 || skippedFiles.length < needs.size,
    note,
  }
}

/** @param {string} name @param {readonly string[]} files */
function notRun(name, files) {
  const more = files.length > MAX_LISTED ? ` and ${files.length - MAX_LISTED} more` : ""
  return `Not run without ${name}: ${files.slice(0, MAX_LISTED).join(", ")}${more}`
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  /** @type {string[]} */
  const said = []
  const prepared = prepareTools(process.argv.slice(2), (line) => said.push(line))
  process.send?.({ said, prepared })
}
