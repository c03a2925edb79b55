import { afterEach, beforeEach, describe, expect, it } from "vitest"
import { startControl, type TestControl } from "../control-plane.test-support.js"

let control: TestControl

beforeEach(async () => {
  control = await startControl()
})

afterEach(async () => {
  expect(control.errors).toEqual([])
  await control.close()
})

const one = { client: "user:1", rule: "api", limits: [{ limit: 500, window: "1m" }] }
const other = { client: "user:1", limits: "unlimited" }

describe("overrides", () => {
  it("are an empty list at first", async () => {
    const { json, headers } = await control.ask("GET", "/overrides")
    expect([json, headers.get("etag")]).toEqual([[], await control.etag()])
  })

  it("are added, and take effect at once", async () => {
    const { status, json } = await control.ask("POST", "/overrides", { body: one })
    expect([status, json]).toEqual([201, one])
    expect((await control.core.engine.check({ path: "/v1/x", user: "1" })).limit).toBe(500)
    expect((await control.core.engine.check({ path: "/v1/x", user: "2" })).limit).toBe(100)
  })

  it("replace one for the same client and the same rules, and no other", async () => {
    await control.ask("POST", "/overrides", { body: one })
    await control.ask("POST", "/overrides", { body: other })
    await control.ask("POST", "/overrides", { body: { ...one, rule: ["api"], limits: "unlimited" } })
    expect((await control.ask("GET", "/overrides")).json).toEqual([
      { client: "user:1", rule: ["api"], limits: "unlimited" },
      other,
    ])
  })

  it("are found and removed by client, or by client and rule", async () => {
    const third = { client: "user:2", limits: "unlimited" }
    await control.ask("PUT", "/overrides", { body: [one, other, third] })
    expect((await control.ask("GET", "/overrides?client=user%3A1")).json).toEqual([one, other])
    expect((await control.ask("GET", "/overrides?rule=api")).json).toEqual([one])
    expect((await control.ask("DELETE", "/overrides?client=user%3A1&rule=api")).status).toBe(204)
    expect((await control.ask("GET", "/overrides")).json).toEqual([other, third])
    expect((await control.ask("DELETE", "/overrides?client=user%3A1")).status).toBe(204)
    expect((await control.ask("GET", "/overrides")).json).toEqual([third])
  })

  it("are removed from the rule set with the last one", async () => {
    const before = control.core.rules.current.etag
    await control.ask("POST", "/overrides", { body: one })
    await control.ask("PUT", "/overrides", { body: [] })
    expect(control.core.rules.current.etag).toBe(before)
  })

  it("answer 404 when there is none to remove, and are never all removed by mistake", async () => {
    const unknown = await control.ask("DELETE", "/overrides?client=user%3A9")
    expect([unknown.status, unknown.json.code]).toEqual([404, "ENTRY_UNKNOWN"])
    const all = await control.ask("DELETE", "/overrides")
    expect([all.status, all.json.code]).toEqual([400, "QUERY_INVALID"])
  })

  it("are refused with every mistake", async () => {
    const { status, json } = await control.ask("POST", "/overrides", {
      body: { client: "somebody", rule: "no-such-rule", limits: [{ limit: 1, window: "1m" }] },
    })
    expect(status).toBe(422)
    expect(json.problems.map(({ path }: { path: string }) => path)).toEqual([
      "overrides[0].client",
      "overrides[0].rule",
    ])
  })
})
