import { afterEach, describe, expect, it } from "vitest"
import { testCore, waitingStore } from "../core.test-support.js"
import { startPlane, type TestPlane } from "./check-api.test-support.js"

const RULES = `
version: 1
rules:
  - id: per-user
    match: { path: /items/** }
    keyBy: user
    limits: [{ algorithm: sliding-window-log, limit: 2, window: 10s }]
`

let plane: TestPlane

afterEach(() => plane.close())

const item = { path: "/items/7", user: "42" }

/** What those who watch were told of each question. */
function toldOf({ core }: TestPlane): unknown[] {
  return core.decided.map(({ request, cost, protocol, decision }) => [
    request,
    cost,
    protocol,
    decision.allowed,
  ])
}

describe.each([
  ["at once", () => ({})],
  ["with a promise", () => ({ store: waitingStore() })],
])("POST /v1/check/batch, decided %s", (_way, options) => {
  it("answers the checks in order, each decided after the one before it", async () => {
    plane = await startPlane(testCore(RULES, options()))
    const checks = [
      item,
      { ...item, user: "7" },
      item,
      { path: "/free" },
      item,
      { rule: "per-user", key: "user:7" },
    ]
    const { status, json } = await plane.post("/v1/check/batch", { checks })
    expect(status).toBe(200)
    expect(
      json.results.map(({ allowed, remaining, key }: Record<string, unknown>) => [allowed, remaining, key]),
    ).toEqual([
      [true, 1, "user:42"],
      [true, 1, "user:7"],
      [true, 0, "user:42"],
      [true, null, undefined],
      [false, 0, "user:42"],
      [true, 0, "user:7"],
    ])
  })

  it("answers an invalid check with its error, and decides the others", async () => {
    plane = await startPlane(testCore(RULES, options()))
    const checks = [
      item,
      7,
      null,
      [],
      { ...item, cost: -1 },
      { ...item, csot: 1 },
      { rule: "x", key: "y" },
      item,
    ]
    const { status, json } = await plane.post("/v1/check/batch", { checks })
    expect(status).toBe(200)
    expect(
      json.results.map(
        ({ remaining, problem }: { remaining?: number; problem?: { code: string } }) =>
          problem?.code ?? remaining,
      ),
    ).toEqual([
      1,
      "BODY_FIELD_INVALID",
      "BODY_FIELD_INVALID",
      "BODY_FIELD_INVALID",
      "COST_INVALID",
      "BODY_UNKNOWN_FIELD",
      "RULE_UNKNOWN",
      0,
    ])
    expect(json.results[1].problem.detail).toContain("checks[1]")
    expect(plane.errors).toEqual([])
  })

  it("accepts 1,000 checks, and refuses 1,001 without charging any", async () => {
    plane = await startPlane(testCore(RULES, options()))
    const many = (count: number) => ({
      checks: Array.from({ length: count }, (_, i) => ({ ...item, user: `${i}` })),
    })
    const refused = await plane.post("/v1/check/batch", many(1_001))
    expect([refused.status, refused.json.code]).toEqual([413, "BATCH_TOO_LARGE"])
    expect(plane.core.decided).toEqual([])
    const { json } = await plane.post("/v1/check/batch", many(1_000))
    expect(json.results).toHaveLength(1_000)
    expect(json.results[999]).toMatchObject({ allowed: true, remaining: 1, key: "user:999" })
  })
})

describe("POST /v1/check/batch", () => {
  it("answers each check with the same bytes as a single check", async () => {
    const asked = Array.from({ length: 40 }, (_, i) => [
      { path: `/items/${i % 7}`, user: ["42", "7", 'q"uo\\te', "é"][i % 4] },
      { path: "/items/9", user: "9", cost: i % 3, at: 1_767_225_600_000 + i * 1.234 },
      { rule: "per-user", key: `user:${i % 5}`, cost: 2 },
      { method: "GET", path: "/free" },
      { path: "/%zz" },
    ]).flat()
    plane = await startPlane(testCore(RULES))
    const { text } = await plane.post("/v1/check/batch", { checks: asked })
    const told = toldOf(plane)
    await plane.close()
    plane = await startPlane(testCore(RULES))
    const singles: string[] = []
    for (const question of asked) singles.push((await plane.post("/v1/check", question)).text)
    const whole = `{"results":[${singles.join(",")}]}`
    for (let i = 0; i < whole.length; i += 100) expect(text.slice(i, i + 100)).toBe(whole.slice(i, i + 100))
    expect(text.length).toBe(whole.length)
    expect(told).toEqual(toldOf(plane))
  })

  it("reports how long each check took", async () => {
    plane = await startPlane(testCore(RULES))
    await plane.post("/v1/check/batch", { checks: [item, 7, item, item] })
    const durations = plane.core.decided.map(({ durationMs }) => durationMs)
    expect(durations).toHaveLength(3)
    for (const duration of durations) expect(duration).toBeGreaterThan(0)
  })

  it.each([
    ["[]", 400, "BODY_NOT_OBJECT"],
    [{}, 400, "BODY_FIELD_INVALID"],
    [{ checks: {} }, 400, "BODY_FIELD_INVALID"],
    [{ checks: [], atomic: true }, 400, "BODY_UNKNOWN_FIELD"],
  ])("refuses %j", async (body, status, code) => {
    plane = await startPlane(testCore(RULES))
    const answer = await plane.post("/v1/check/batch", body)
    expect([answer.status, answer.json.code]).toEqual([status, code])
  })

  it("answers an empty batch with no results", async () => {
    plane = await startPlane(testCore(RULES))
    expect((await plane.post("/v1/check/batch", { checks: [] })).json).toEqual({ results: [] })
  })

  it("answers 500 for the whole batch, and logs the error, when the engine throws", async () => {
    const core = testCore(RULES, { tierOf: () => Promise.reject(new Error("the directory is away")) })
    plane = await startPlane(core)
    const { status, json } = await plane.post("/v1/check/batch", { checks: [item] })
    expect([status, json.code]).toEqual([500, "INTERNAL"])
    expect(JSON.stringify(json)).not.toContain("directory")
    expect(plane.errors).toMatchObject([{ message: "the directory is away" }])
  })
})
