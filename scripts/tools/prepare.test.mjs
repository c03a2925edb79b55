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

describe("the step before the tests", () => {
  it("asks once for all tools that the selected files need, and tells the tests where they are", () => {
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
      leftOut: [],
      isAnyLeft: true,
      note: "1 found, fetched chromium",
    })
    expect(said[0]).toMatch(/^1 found, fetched chromium, in \d+\.\d s$/)
  })

  it("reports a tool that cannot be had as one failure, and leaves out the files that need it", () => {
    const missing = [{ name: "chromium", reason: "no network" }]
    const ensure = () => ({ paths: { "redis-server": "/r" }, fetched: [], missing })
    const prepared = prepareTools([], () => undefined, ensure, needs)
    expect(prepared.leftOut).toEqual(["test/b.test.ts", "test/c.test.ts"])
    expect(prepared.isAnyLeft).toBe(true)
    expect(prepared.missing).toEqual(["chromium"])
    expect(prepared.problem).toMatch(/chromium 123\.0 or newer: no network/)
    expect(prepared.problem).toMatch(/install .*chromium-headless-shell\n/)
    expect(prepared.problem).toMatch(/Not run without chromium: test\/b\.test\.ts, test\/c\.test\.ts\.$/)
  })

  it("does without an optional tool, and says what does not run and which command runs it", () => {
    const missing = [{ name: "valkey-server", reason: "is not here" }]
    const ensure = () => ({ paths: { "redis-server": "/r" }, fetched: [], missing })
    const some = new Map([...needs, ["test/v.test.ts", new Set(["redis-server", "valkey-server"])]])
    const prepared = prepareTools([], () => undefined, ensure, some)
    expect(prepared).toMatchObject({ missing: [], problem: undefined, leftOut: ["test/v.test.ts"] })
    expect(prepared.note).toBe("1 found, without valkey-server")
    expect(prepared.notRun).toEqual([
      "Not run without valkey-server: test/v.test.ts (is not here). npm run test:valkey runs it and gets valkey-server or says how.",
    ])
  })

  it("says when no other test is left", () => {
    const missing = [{ name: "wrk", reason: "no network" }]
    const ensure = () => ({ paths: {}, fetched: [], missing })
    const one = new Map([["test/e.test.ts", new Set(["wrk"])]])
    expect(prepareTools([], () => undefined, ensure, one).isAnyLeft).toBe(false)
  })

  it("gets nothing for tests that need nothing", () => {
    const asked = []
    const ensure = (names) => {
      asked.push(...names)
      return { paths: {}, fetched: [], missing: [] }
    }
    const { note } = prepareTools(["packages/sluice/src/algorithms"], () => undefined, ensure)
    expect({ asked, note }).toEqual({ asked: [], note: "none needed" })
  })
})

it("vitest runs no file that is left out, in any of its projects", () => {
  const args = [
    join(root, "node_modules/vitest/vitest.mjs"),
    "list",
    "--filesOnly",
    "test/chaos",
    "test/redis",
  ]
  const listed = (leftOut) =>
    spawnSync(process.execPath, args, {
      cwd: root,
      encoding: "utf8",
      env: { ...process.env, SLUICE_TESTS_LEFT_OUT: leftOut.join("\n") },
    }).stdout
  const leftOut = ["test/chaos/boot.test.ts", "test/redis/uniform.test.ts"]
  const [all, rest] = [listed([]), listed(leftOut)]
  for (const file of leftOut) {
    expect(all).toContain(file)
    expect(rest).not.toContain(file)
  }
  expect(rest).toContain("test/chaos/exit.test.ts")
}, 120_000)
