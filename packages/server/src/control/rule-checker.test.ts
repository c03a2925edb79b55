import { monitorEventLoopDelay } from "node:perf_hooks"
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import { startControl, type TestControl } from "./control-plane.test-support.js"
import { RuleChecker } from "./rule-checker.js"

describe("RuleChecker", () => {
  const good = { version: 1, rules: [{ id: "a", limits: "unlimited" }] }
  const bad = { version: 1, rules: [{ id: "a", limits: "none" }, {}] }

  it.each([10, 100_000])("finds the same in a thread as here: %i bytes", async (bytes) => {
    const checker = new RuleChecker()
    expect(await checker.check({ value: good }, bytes)).toEqual(good)
    expect(await checker.check({ text: JSON.stringify(good) }, bytes)).toEqual(good)
    const refused = await checker.check({ text: JSON.stringify(bad) }, bytes).catch((error) => error)
    expect(refused).toMatchObject({ name: "SluiceError", code: "RULES_INVALID" })
    expect(refused.problems.map(({ path }: { path: string }) => path)).toEqual([
      "rules[0].limits",
      "rules[1].id",
      "rules[1].limits",
    ])
    expect(refused.problems[0].line).toBe(1)
  })

  it.each([10, 100_000])("reads a single rule in a thread as here: %i bytes", async (bytes) => {
    const checker = new RuleChecker()
    const within = { version: 1 as const, rules: [{ id: "a", limits: "unlimited" as const }] }
    const rule = { id: "b", replaces: ["a"], limits: "unlimited" }
    expect(await checker.checkRule({ text: JSON.stringify(rule), within, id: "" }, bytes)).toEqual(rule)
    const refused = checker.checkRule({ text: "id: b\nlimits: 1", within, id: "a" }, bytes)
    await expect(refused).rejects.toMatchObject({ problems: [{ path: "rules[0].limits", line: 2 }] })
  })
})

describe("the worst bodies", () => {
  let control: TestControl

  beforeEach(async () => {
    control = await startControl()
  })

  afterEach(async () => {
    expect(control.errors).toEqual([])
    await control.close()
  })

  const unknown = Array.from({ length: 20_000 }, (_, i) => `"f${i}":1`).join()
  it.each([
    ["PUT", "/rules", "json", `{"version":1,"rules":[${"{},".repeat(20_000)}{}]}`],
    ["PUT", "/rules", "yaml", "a: [\n}\n".repeat(15_000)],
    ["POST", "/rules", "json", `{"id":"x",${unknown}}`],
    ["PUT", "/lists/deny", "json", `[${"1,".repeat(60_000)}1]`],
  ])(
    "are refused by %s %s as %s, and stall nothing",
    async (method, path, type, body) => {
      const delay = monitorEventLoopDelay({ resolution: 1 })
      delay.enable()
      const started = performance.now()
      const { status, json } = await control.ask(method, path, {
        headers: { "content-type": `application/${type}` },
        body,
      })
      const tookMs = performance.now() - started
      delay.disable()
      expect([status, json.code]).toEqual([422, "RULES_INVALID"])
      expect(json.problems.length).toBeLessThanOrEqual(1_000)
      // A busy machine slows the thread and the loop alike.
      expect(delay.max / 1e6).toBeLessThan(Math.max(50, tookMs / 3))
    },
    30_000,
  )
})
