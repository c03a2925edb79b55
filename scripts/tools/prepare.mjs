// The step of `npm test` that gets the tools: only those that the selected test files need, all in one go, before any test runs.

import { ensureTools, explain } from "./ensure.mjs"
import { selectedFiles, testFiles, toolsOf } from "./needs.mjs"
import { tools, variableOf } from "./table.mjs"

/** Of more files only the number is shown. */
const SHOWN_FILES = 5

/**
 * @typedef {object} Prepared
 * @property {Record<string, string>} variables what tells the tests where the tools are
 * @property {string[]} missing the tools that could not be had and are needed
 * @property {string[]} notRun a line for each optional tool that could not be had: what does not run, and which command runs it
 * @property {string | undefined} problem what to do about them, and which files do not run
 * @property {string[]} leftOut the test files that need one of them
 * @property {boolean} isAnyLeft whether other test files are selected
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
  const leftOut = [...new Set(absent.flatMap(({ name }) => filesFor(name)))]
  const problem =
    missing.length === 0
      ? undefined
      : [explain(missing), ...missing.map(({ name }) => `${notRun(name, filesFor(name))}.`)].join("\n")
  const here = Object.keys(paths).filter((name) => !fetched.includes(name))
  const parts = [
    `${here.length} found`,
    ...(fetched.length > 0 ? [`fetched ${fetched.join(", ")}`] : []),
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
        `${notRun(name, filesFor(name))} (${reason}). ${tools[name].optional} runs it and gets ${name} or says how.`,
    ),
    problem,
    leftOut,
    isAnyLeft: leftOut.length === 0 || leftOut.length < needs.size,
    note,
  }
}

/** @param {string} name @param {readonly string[]} files */
function notRun(name, files) {
  const more = files.length > SHOWN_FILES ? ` and ${files.length - SHOWN_FILES} more` : ""
  return `Not run without ${name}: ${files.slice(0, SHOWN_FILES).join(", ")}${more}`
}
