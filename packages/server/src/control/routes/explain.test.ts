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

const request = { method: "POST", path: "/login", ip: "192.0.2.1" }
const explain = (body: unknown) => control.ask("POST", "/explain", { body, ifMatch: "" })

describe("POST /explain", () => {
  it("lists the rules that apply, and the answer that the client would get", async () => {
    const { status, json } = await explain(request)
    expect(status).toBe(200)
    expect(json.rules).toMatchObject([
      { rule: "login", applies: true, key: "ip:192.0.2.1", limits: [{ limit: 2, remaining: 2 }] },
      { rule: "api", matched: false, because: expect.stringContaining("path") },
    ])
    expect(json).toMatchObject({ revision: 1, decision: { allowed: true }, response: { status: 200 } })
    expect(json.response.headers).toContainEqual(["x-ratelimit-limit", "2"])
  })

  it("charges nothing, and is not counted as a decision", async () => {
    for (let i = 0; i < 5; i++) expect((await explain(request)).json.decision.allowed).toBe(true)
    expect(control.core.decided).toEqual([])
  })

  it("has the status, the headers and the body of a denial", async () => {
    for (let i = 0; i < 2; i++) await control.core.engine.check(request)
    const { decision, response, verdict } = (await explain(request)).json
    expect([decision.allowed, response.status]).toEqual([false, 429])
    expect(verdict).toContain("denied by limit")
    expect(Object.fromEntries(response.headers)).toMatchObject({
      "retry-after": expect.stringMatching(/^\d+$/),
      "content-type": "application/problem+json",
    })
    expect(JSON.parse(response.body)).toMatchObject({ status: 429, rule: "login" })
  })

  it("never shows an API key in clear", async () => {
    const { text } = await explain({
      path: "/v1/x",
      apiKey: "my-secret-key",
      headers: { "X-Api-Key": "my-secret-key" },
    })
    expect(text).not.toContain("my-secret-key")
  })

  it("refuses an invalid request, and names the field", async () => {
    const { status, json } = await explain({ pth: "/login" })
    expect([status, json.code]).toEqual([400, "BODY_UNKNOWN_FIELD"])
    expect((await explain({ cost: -1 })).json.code).toBe("COST_INVALID")
  })
})
