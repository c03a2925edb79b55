// What a test run came to, in numbers and in the names of what failed.

import { relative } from "node:path"

/**
 * Counts a vitest run from its JSON report. A run that fails in a way no single test shows (a file that does not load, an error
 * nobody caught, no report at all, no test at all) counts as a failure too, so that a broken run never looks green.
 *
 * @param {string | undefined} json the report, if one was written
 * @param {number | null} status vitest's exit status
 * @returns {{ passed: number, failed: number, skipped: number, note?: string }}
 */
export function countTests(json, status) {
  if (json === undefined) return { passed: 0, failed: 1, skipped: 0, note: "vitest wrote no report" }
  const report = JSON.parse(json)
  const passed = report.numPassedTests
  const skipped = report.numPendingTests + report.numTodoTests
  const brokenFiles = report.testResults.filter(
    (file) => file.status === "failed" && !file.assertionResults.some((test) => test.status === "failed"),
  )
  const failed = report.numFailedTests + brokenFiles.length
  if (failed === 0 && passed === 0) return { passed, failed: 1, skipped, note: "no test was executed" }
  if (failed === 0 && status !== 0)
    return { passed, failed: 1, skipped, note: `vitest ended with status ${status}` }
  return { passed, failed, skipped }
}

/**
 * The tests that failed, each with its file and the first line of what went wrong: a log of ten thousand tests is often only
 * kept by its end.
 *
 * @param {string | undefined} json the report, if one was written
 * @param {string} folder the paths are shown from here
 * @returns {string[]}
 */
export function failedTests(json, folder) {
  if (json === undefined) return []
  return JSON.parse(json).testResults.flatMap((file) => {
    if (file.status !== "failed") return []
    const path = relative(folder, file.name)
    const tests = file.assertionResults.filter((test) => test.status === "failed")
    if (tests.length === 0) return [`${path}: ${firstLine(file.message)}`]
    return tests.map((test) => `${path} > ${test.fullName}: ${firstLine(test.failureMessages?.[0])}`)
  })
}

function firstLine(text) {
  return text?.split("\n", 1)[0] || "no message"
}

/**
 * The line that ends every run.
 *
 * @param {{ passed: number, failed: number, skipped: number }[]} counts
 */
export function closingLine(counts) {
  const sum = (field) => counts.reduce((total, count) => total + count[field], 0)
  const line = `${sum("passed")} passed, ${sum("failed")} failed`
  return sum("skipped") === 0 ? line : `${line}, ${sum("skipped")} skipped`
}

/**
 * The ten test files that took longest, with what they spent the time on.
 *
 * @param {string | undefined} json what test-times.mjs wrote
 * @param {string} folder the paths are shown from here
 * @returns {string[]}
 */
export function slowestFiles(json, folder) {
  if (json === undefined) return []
  const total = (file) => file.importMs + file.hooksMs + file.testsMs
  const seconds = (ms) => `${(ms / 1000).toFixed(1).padStart(6)} s`
  return JSON.parse(json)
    .sort((a, b) => total(b) - total(a))
    .slice(0, 10)
    .map(
      (file) =>
        `${seconds(total(file))}  ${relative(folder, file.file)}  (imports ${seconds(file.importMs).trim()}, hooks ${seconds(file.hooksMs).trim()}, ${file.tests} tests ${seconds(file.testsMs).trim()})`,
    )
}
