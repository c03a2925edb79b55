// A vitest reporter that writes how long the imports, hooks and tests of each file took. The JSON report of vitest contains only
// the tests.

import { writeFileSync } from "node:fs"

/**
 * @typedef {object} FileTime
 * @property {string} file
 * @property {number} importMs the environment and the imports
 * @property {number} hooksMs the hooks, which start and stop servers
 * @property {number} testsMs the tests
 * @property {number} tests the number of tests
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
