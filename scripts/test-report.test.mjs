import { describe, expect, it } from "vitest"
import { closingLine, countTests, failedTests, slowestFiles } from "./test-report.mjs"

function report(fields) {
  return JSON.stringify({
    numPassedTests: 0,
    numFailedTests: 0,
    numPendingTests: 0,
    numTodoTests: 0,
    testResults: [],
    ...fields,
  })
}

describe("countTests", () => {
  it("counts passed, failed and skipped tests", () => {
    const json = report({
      numPassedTests: 3,
      numFailedTests: 1,
      numPendingTests: 1,
      numTodoTests: 1,
      testResults: [{ status: "failed", assertionResults: [{ status: "failed" }, { status: "passed" }] }],
    })
    expect(countTests(json, 1)).toEqual({ passed: 3, failed: 1, skipped: 2 })
  })

  it("counts a file that does not load as a failure", () => {
    const json = report({ numPassedTests: 3, testResults: [{ status: "failed", assertionResults: [] }] })
    expect(countTests(json, 1)).toEqual({ passed: 3, failed: 1, skipped: 0 })
  })

  it("counts a run without a single test as a failure", () => {
    expect(countTests(report({}), 0)).toMatchObject({ passed: 0, failed: 1, note: "no test was executed" })
    expect(countTests(report({ numPendingTests: 5 }), 0)).toMatchObject({ passed: 0, failed: 1, skipped: 5 })
  })

  it("counts an error outside of tests as a failure", () => {
    expect(countTests(report({ numPassedTests: 3 }), 1)).toMatchObject({ passed: 3, failed: 1 })
  })

  it("counts a missing report as a failure", () => {
    expect(countTests(undefined, 0)).toMatchObject({ passed: 0, failed: 1 })
  })
})

describe("failedTests", () => {
  it("names each failed test with its file and the first line of its error", () => {
    const failed = { status: "failed", fullName: "door > opens", failureMessages: ["Error: shut\n    at x"] }
    const testResults = [
      { name: "/here/a.test.ts", status: "failed", assertionResults: [{ status: "passed" }, failed] },
      { name: "/here/b.test.ts", status: "passed", assertionResults: [{ status: "passed" }] },
    ]
    expect(failedTests(report({ testResults }), "/here")).toEqual(["a.test.ts > door > opens: Error: shut"])
  })

  it("names a file that does not load", () => {
    const testResults = [
      { name: "/here/c.test.ts", status: "failed", message: "no such\nx", assertionResults: [] },
    ]
    expect(failedTests(report({ testResults }), "/here")).toEqual(["c.test.ts: no such"])
  })

  it("is empty without a report", () => {
    expect(failedTests(undefined, "/here")).toEqual([])
  })
})

describe("closingLine", () => {
  it("adds up, and mentions skipped tests only if there are any", () => {
    const one = { passed: 1, failed: 0, skipped: 0 }
    expect(closingLine([one, { passed: 40, failed: 2, skipped: 0 }])).toBe("41 passed, 2 failed")
    expect(closingLine([one, { passed: 40, failed: 0, skipped: 3 }])).toBe("41 passed, 0 failed, 3 skipped")
  })
})

describe("slowestFiles", () => {
  const file = (name, importMs, hooksMs, testsMs) => ({
    file: `/here/${name}`,
    importMs,
    hooksMs,
    testsMs,
    tests: 3,
  })

  it("lists the ten slowest files, with the time of imports, hooks and tests", () => {
    const many = Array.from({ length: 12 }, (_, i) => file(`${i}.test.ts`, 10, 0, i))
    const json = JSON.stringify([
      ...many,
      file("servers.test.ts", 500, 3000, 200),
      file("long.test.ts", 0, 0, 12_345),
    ])
    const lines = slowestFiles(json, "/here")
    expect(lines).toHaveLength(10)
    expect(lines[0]).toBe("  12.3 s  long.test.ts  (imports 0.0 s, hooks 0.0 s, 3 tests 12.3 s)")
    expect(lines[1]).toBe("   3.7 s  servers.test.ts  (imports 0.5 s, hooks 3.0 s, 3 tests 0.2 s)")
    expect(lines[2]).toContain("11.test.ts")
  })

  it("is empty without a report", () => {
    expect(slowestFiles(undefined, "/here")).toEqual([])
  })
})
