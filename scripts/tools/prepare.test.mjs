import { spawnSync } from "node:child_process"
import { join } from "node:path"
import { describe, expect, it } from "vitest"
import { root } from "../root.mjs"
import { prepareTools } from "./prepare.mjs"

const needs = new Map([
  ["test/a.test.ts", new Set(["redis-server"])],
  ["test/b.test.ts", new Set(["chromium", "redis-server"])],
  ["test/c.test.ts", new Set(["chromium"])],
  ["test/d.test.ts", new Set()],
])

describe("prepareTools", () => {
  it("finds all tools of the selected files at once, and returns variables with their paths", () => {
    const asked = []
    const said = []
    const ensure = (names) => {
      asked.push(names)
      return { paths: { chromium: "/c", "redis-server": "/r" }, fetched: ["chromium"], missing: [] }
    }
    const prepared = prepareTools([], (line) => said.push(line), ensure, needs)
    expect(asked).toEqual([["chromium", "redis-server"]])
    expect(prepared).toEqual({
      variables: { SLUICE_CHROMIUM: "/c", SLUICE_REDIS_SERVER: "/r" },
      missing: [],
      notRun: [],
      problem: undefined,
      skippedFiles: [],
      hasTestsToRun: true,
      note: "1 found, downloaded chromium",
    })
    expect(said[0]).toMatch(/^1 found, downloaded chromium, in \d+\.\d s$/)
  })

  it("reports a missing tool as one failure, and skips the files that need it", () => {
    const missing = [{ name: "chromium", reason: "no network" }]
    const ensure = () => ({ paths: { "redis-server": "/r" }, fetched: [], missing })
    const prepared = prepareTools([], () => undefined, ensure, needs)
    expect(prepared.skippedFiles).toEqual(["test/b.test.ts", "test/c.test.ts"])
    expect(prepared.hasTestsToRun).toBe(true)
    expect(prepared.missing).toEqual(["chromium"])
    expect(prepared.problem).toMatch(/chromium 123\.0 or newer: no network/)
    expect(prepared.problem).toMatch(/install .*chromium-headless-shell\n/)
    expect(prepared.problem).toMatch(/Not run without chromium: test\/b\.test\.ts, test\/c\.test\.ts\.$/)
  })

  it("works without an optional tool, and names the tests that do not run and the command for them", () => {
    const missing = [{ name: "valkey-server", reason: "is not installed" }]
    const ensure = () => ({ paths: { "redis-server": "/r" }, fetched: [], missing })
    const some = new Map([...needs, ["test/v.test.ts", new Set(["redis-server", "valkey-server"])]])
    const prepared = prepareTools([], () => undefined, ensure, some)
    expect(prepared).toMatchObject({ missing: [], problem: undefined, skippedFiles: ["test/v.test.ts"] })
    expect(prepared.note).toBe("1 found, without valkey-server")
    expect(prepared.notRun).toEqual([
      "Not run without valkey-server: test/v.test.ts (valkey-server is not installed). To run it: npm run test:valkey",
    ])
  })

  it("reports that no other test is selected", () => {
    const missing = [{ name: "wrk", reason: "no network" }]
    const ensure = () => ({ paths: {}, fetched: [], missing })
    const one = new Map([["test/e.test.ts", new Set(["wrk"])]])
    expect(prepareTools([], () => undefined, ensure, one).hasTestsToRun).toBe(false)
  })

  it("looks for no tool if no test needs one", () => {
    const asked = []
    const ensure = (names) => {
      asked.push(...names)
      return { paths: {}, fetched: [], missing: [] }
    }
    const { note } = prepareTools(["packages/sluice/src/algorithms"], () => undefined, ensure)
    expect({ asked, note }).toEqual({ asked: [], note: "none needed" })
  })
})

it("vitest runs no skipped file in any of its projects", () => {
  const args = [
    join(root, "node_modules/vitest/vitest.mjs"),
    "list",
    "--filesOnly",
    "test/chaos",
    "test/redis",
  ]
  const listed = (skipped) =>
    spawnSync(process.execPath, args, {
      cwd: root,
      encoding: "utf8",
      env: { ...process.env, SLUICE_TESTS_LEFT_OUT: skipped.join("\n") },
    }).stdout
  const skipped = ["test/chaos/boot.test.ts", "test/redis/expiry.test.ts"]
  const [all, rest] = [listed([]), listed(skipped)]
  for (const file of skipped) {
    expect(all).toContain(file)
    expect(rest).not.toContain(file)
  }
  expect(rest).toContain("test/chaos/exit.test.ts")
}, 120_000)
