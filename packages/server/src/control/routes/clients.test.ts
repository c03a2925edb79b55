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

describe.each(["/lists/deny", "/lists/allow", "/tiers/pro"])("%s", (path) => {
  it("is replaced, extended and reduced", async () => {
    const put = await control.ask("PUT", path, { body: ["user:1", "ip:192.0.2.0/24"] })
    expect([put.status, put.json]).toEqual([200, ["user:1", "ip:192.0.2.0/24"]])
    const added = await control.ask("POST", `${path}/clients`, { body: { client: "user:2" } })
    expect(added.json).toEqual(["user:1", "ip:192.0.2.0/24", "user:2"])
    const removed = await control.ask("DELETE", `${path}/clients?client=ip%3A192.0.2.0%2F24`)
    expect(removed.json).toEqual(["user:1", "user:2"])
    expect((await control.ask("GET", path)).json).toEqual(["user:1", "user:2"])
  })

  it("has a client once, however often it is added", async () => {
    await control.ask("POST", `${path}/clients`, { body: { client: "user:2" } })
    const again = await control.ask("POST", `${path}/clients`, { body: { client: "user:2" } })
    expect([again.json, again.headers.get("sluice-revision")]).toEqual([["user:2"], "2"])
  })

  it("answers 404 when the client to remove is not on it", async () => {
    const { status, json } = await control.ask("DELETE", `${path}/clients?client=user%3A9`)
    expect([status, json.code]).toEqual([404, "ENTRY_UNKNOWN"])
  })

  it("refuses invalid client names, and never shows an API key in clear", async () => {
    const { status, text, json } = await control.ask("PUT", path, { body: ["apiKey:my-secret-key", "bob"] })
    expect([status, json.problems.length]).toEqual([422, 2])
    expect(text).not.toContain("my-secret-key")
  })
})

describe("lists", () => {
  it("take effect at once", async () => {
    await control.ask("POST", "/lists/deny/clients", { body: { client: "user:mallory" } })
    const decision = await control.core.engine.check({ path: "/v1/x", user: "mallory" })
    expect([decision.allowed, decision.reason]).toEqual([false, "deny-list"])
  })

  it("are allow and deny only", async () => {
    for (const name of ["grey", "rules", "__proto__", "constructor"]) {
      const { status, json } = await control.ask("GET", `/lists/${name}`)
      expect([status, json.code]).toEqual([404, "ENTRY_UNKNOWN"])
    }
  })

  it("are removed from the rule set when they are empty", async () => {
    const before = control.core.rules.current.etag
    await control.ask("PUT", "/lists/allow", { body: ["user:1"] })
    await control.ask("DELETE", "/lists/allow/clients?client=user%3A1")
    expect(control.core.rules.current.etag).toBe(before)
  })
})

describe("tiers", () => {
  it("are shown together, and removed as a whole", async () => {
    await control.ask("PUT", "/tiers/pro", { body: ["user:1"] })
    await control.ask("PUT", "/tiers/free", { body: [] })
    expect((await control.ask("GET", "/tiers")).json).toEqual({ pro: ["user:1"], free: [] })
    expect((await control.ask("DELETE", "/tiers/pro")).status).toBe(204)
    expect((await control.ask("GET", "/tiers")).json).toEqual({ free: [] })
  })

  it.each(["pro", "__proto__", "constructor", "toString"])(
    "are not found before they exist: %s",
    async (name) => {
      for (const method of ["GET", "DELETE"]) {
        const { status, json } = await control.ask(method, `/tiers/${name}`)
        expect([status, json.code]).toEqual([404, "ENTRY_UNKNOWN"])
      }
    },
  )

  it("refuse names such as __proto__", async () => {
    const { status } = await control.ask("PUT", "/tiers/__proto__", { body: ["user:1"] })
    expect(status).toBe(422)
    expect(control.core.rules.current.revision).toBe(1)
  })
})

describe("POST /api-keys/hash", () => {
  it("returns the client name of an API key, as lists and the engine use it", async () => {
    const { json } = await control.ask("POST", "/api-keys/hash", { body: { apiKey: "my-secret-key" } })
    expect(json.client).toMatch(/^apiKey:[\w-]{22}$/)
    await control.ask("POST", "/lists/deny/clients", { body: json })
    const decision = await control.core.engine.check({ path: "/v1/x", apiKey: "my-secret-key" })
    expect(decision.reason).toBe("deny-list")
    expect((await control.ask("GET", "/audit")).text).not.toContain("my-secret-key")
  })
})
