// Summarizes a test run: counts, failed tests, slowest files.

import { relative } from "node:path"

/**
 * Counts the tests in the JSON report of vitest. A run can also fail without a failed test: a file does not load, an error is
 * not caught, there is no report, or no test ran. Each of these counts as a failure.
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
 * The failed tests, each with its file and the first line of its error. They are printed again at the end, because CI often
 * shows only the end of a long log.
 *
 * @param {string | undefined} json the report, if one was written
 * @param {string} folder the folder that the paths are relative to
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
 * The last line of a run.
 *
 * @param {{ passed: number, failed: number, skipped: number }[]} counts
 */
export function closingLine(counts) {
  const sum = (field) => counts.reduce((total, count) => total + count[field], 0)
  const line = `${sum("passed")} passed, ${sum("failed")} failed`
  return sum("skipped") === 0 ? line : `${line}, ${sum("skipped")} skipped`
}

/**
 * The ten slowest test files, with the time that imports, hooks and tests took.
 *
 * @param {string | undefined} json the output of test-times.mjs
 * @param {string} folder the folder that the paths are relative to
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
