import { afterEach, describe, expect, it } from "vitest"
import { startControl, type TestControl } from "../control-plane.test-support.js"

let control: TestControl

afterEach(() => control.close())

const READER = { name: "ann", role: "reader", token: "a-token-for-reading" } as const
const EDITOR = { name: "bob", role: "editor", token: "a-token-for-editing" } as const
const as = ({ token }: { readonly token: string }) => ({ headers: { authorization: `Bearer ${token}` } })

describe("the identity of the caller", () => {
  it("is this machine when there are no tokens", async () => {
    control = await startControl()
    const { json } = await control.ask("GET", "/session")
    expect(json).toEqual({ name: "loopback", role: "admin", byToken: false })
  })

  it("is the name of the token, with its role", async () => {
    control = await startControl({ tokens: [READER, EDITOR] })
    expect((await control.ask("GET", "/session", as(READER))).json).toEqual({
      name: "ann",
      role: "reader",
      byToken: true,
    })
    expect((await control.ask("GET", "/session")).status).toBe(401)
  })
})

describe("the status", () => {
  it("shows the rules, the store and the processes", async () => {
    control = await startControl({ version: "1.2.3" })
    const { json } = await control.ask("GET", "/status")
    const now = control.core.clock.now()
    expect(json).toEqual({
      status: "ready",
      version: "1.2.3",
      node: process.versions.node,
      startedAt: 1_767_225_600_000,
      now,
      workers: 1,
      rules: { revision: 1, count: 2, changedAt: now, changedBy: "initial", stale: false },
      store: { kind: "memory", keys: 3, bytes: 96 },
    })
  })

  it("follows a change of the rules", async () => {
    control = await startControl()
    await control.ask("DELETE", "/rules/api")
    const { json } = await control.ask("GET", "/status")
    expect(json.rules).toMatchObject({ revision: 2, count: 1, changedBy: "loopback" })
  })
})

describe("sample traffic", () => {
  it("does not exist unless the service offers it", async () => {
    control = await startControl()
    expect((await control.ask("POST", "/sample-traffic")).json.code).toBe("PATH_UNKNOWN")
    expect((await control.ask("GET", "/status")).json.sampleTraffic).toBeUndefined()
  })

  it("is started and ended by editors only, and shows in the status", async () => {
    control = await startControl({ tokens: [READER, EDITOR], sampleTraffic: true })
    expect((await control.ask("POST", "/sample-traffic", as(READER))).status).toBe(403)
    expect((await control.ask("GET", "/status", as(READER))).json.sampleTraffic).toEqual({})
    const { status, json } = await control.ask("POST", "/sample-traffic", as(EDITOR))
    expect([status, json]).toEqual([202, { endsAt: control.core.clock.now() + 60_000 }])
    expect((await control.ask("GET", "/status", as(READER))).json.sampleTraffic).toEqual(json)
    expect((await control.ask("DELETE", "/sample-traffic", as(EDITOR))).status).toBe(204)
    expect((await control.ask("GET", "/status", as(READER))).json.sampleTraffic).toEqual({})
  })
})
