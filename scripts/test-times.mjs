// A reporter of vitest that writes how long each test file took, and with what. The JSON report has the tests alone, without the
// imports and hooks before them.

import { writeFileSync } from "node:fs"

/**
 * @typedef {object} FileTime
 * @property {string} file
 * @property {number} importMs its environment and imports
 * @property {number} hooksMs its hooks: servers that start and stop
 * @property {number} testsMs the tests themselves
 * @property {number} tests how many
 */

export default class TestTimes {
  /** @param {readonly import("vitest/node").TestModule[]} modules */
  onTestRunEnd(modules) {
    const file = process.env.SLUICE_TEST_TIMES
    if (!file) return
    writeFileSync(file, JSON.stringify(modules.map(timeOf)))
  }
}

/** @param {import("vitest/node").TestModule} module @returns {FileTime} */
function timeOf(module) {
  const { environmentSetupDuration, prepareDuration, collectDuration, setupDuration, duration } =
    module.diagnostic()
  const tests = [...module.children.allTests()]
  const testsMs = tests.reduce((sum, test) => sum + (test.diagnostic()?.duration ?? 0), 0)
  return {
    file: module.moduleId,
    importMs: environmentSetupDuration + prepareDuration + collectDuration + setupDuration,
    hooksMs: Math.max(0, duration - testsMs),
    testsMs,
    tests: tests.length,
  }
}
