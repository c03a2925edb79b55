import { afterEach, beforeEach, describe, expect, it } from "vitest"
import { parse } from "yaml"
import { startControl, type TestControl } from "../control-plane.test-support.js"

let control: TestControl

beforeEach(async () => {
  control = await startControl()
})

afterEach(async () => {
  expect(control.errors).toEqual([])
  await control.close()
})

const search = { id: "search", match: { path: "/search" }, limits: [{ limit: 5, window: "1s" }] }

describe("GET /rules", () => {
  it("answers the rules in force with a strong ETag and their revision", async () => {
    const { status, headers, json } = await control.ask("GET", "/rules")
    expect(status).toBe(200)
    expect(json).toEqual(control.core.rules.current.document)
    expect(headers.get("etag")).toMatch(/^"1-[0-9a-f]{16}"$/)
    expect(headers.get("sluice-revision")).toBe("1")
  })

  it("answers the same as YAML, with another ETag", async () => {
    const yaml = await control.ask("GET", "/rules", { headers: { accept: "application/yaml" } })
    expect(yaml.headers.get("content-type")).toBe("application/yaml")
    expect(yaml.headers.get("vary")).toBe("accept")
    expect(parse(yaml.text)).toEqual(control.core.rules.current.document)
    expect(yaml.headers.get("etag")).not.toBe(await control.etag())
  })

  it("answers 304 to a client that has them, and the rules after a change", async () => {
    const held = { headers: { "if-none-match": await control.etag() } }
    const answer = await control.ask("GET", "/rules", held)
    expect([answer.status, answer.text]).toEqual([304, ""])
    await control.ask("POST", "/rules", { body: search })
    expect((await control.ask("GET", "/rules", held)).status).toBe(200)
  })
})

describe("a change", () => {
  it.each([
    ["PUT", "/rules", { version: 1, rules: [] }],
    ["POST", "/rules", search],
    ["PUT", "/rules/login", { limits: "unlimited" }],
    ["PATCH", "/rules/login", { mode: "off" }],
    ["DELETE", "/rules/login", undefined],
    ["POST", "/rules/rollback", { revision: 1 }],
    ["PUT", "/overrides", []],
    ["POST", "/overrides", { client: "user:1", limits: "unlimited" }],
    ["PUT", "/lists/allow", ["user:1"]],
    ["POST", "/lists/deny/clients", { client: "user:1" }],
    ["PUT", "/tiers/pro", ["user:1"]],
  ])("is refused by %s %s without If-Match, and with a stale one", async (method, path, body) => {
    const none = await control.ask(method, path, { body, ifMatch: "" })
    expect([none.status, none.json.code]).toEqual([428, "IF_MATCH_REQUIRED"])
    const stale = await control.ask(method, path, { body, ifMatch: '"1-0000000000000000"' })
    expect([stale.status, stale.json.code]).toEqual([412, "RULES_CONFLICT"])
    expect(stale.headers.get("etag")).toBe(await control.etag())
    expect(control.core.rules.current.revision).toBe(1)
  })

  it("accepts the ETag of either format, also in a list, and no weak ETag", async () => {
    const etag = await control.etag()
    const yaml = await control.ask("GET", "/rules", { headers: { accept: "application/yaml" } })
    const patch = (mode: string, ifMatch: string) =>
      control.ask("PATCH", "/rules/login", { body: { mode }, ifMatch })
    expect((await patch("off", `W/${etag}`)).status).toBe(412)
    expect((await patch("off", String(yaml.headers.get("etag")))).status).toBe(200)
    expect((await patch("shadow", `"other", ${await control.etag()}`)).status).toBe(200)
    expect((await patch("enforce", etag)).status).toBe(412)
  })

  it("succeeds once when many are made on the same revision at the same time", async () => {
    const ifMatch = await control.etag()
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, i) =>
        control.ask("PATCH", "/rules/login", { body: { description: `by ${i}` }, ifMatch }),
      ),
    )
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
    expect(answers.filter(({ status }) => status === 412)).toHaveLength(19)
    expect(control.core.rules.current.revision).toBe(2)
  })

  it("applies to the next request", async () => {
    await control.ask("PATCH", "/rules/login", { body: { limits: [{ limit: 1, window: "1m" }] } })
    const decision = await control.core.engine.check({ path: "/login", ip: "192.0.2.1" })
    expect([decision.limit, decision.revision]).toEqual([1, 2])
  })

  it("has its comment and its author in the history", async () => {
    await control.ask("DELETE", "/rules/api?comment=no%20longer%20needed", {})
    const { json } = await control.ask("GET", "/rules/revisions")
    expect(json[0]).toMatchObject({
      revision: 2,
      changedBy: "loopback",
      comment: "no longer needed",
      changes: { removed: ["api"] },
    })
  })
})

describe("PUT /rules", () => {
  it("replaces the whole set, from JSON and from YAML", async () => {
    const json = await control.ask("PUT", "/rules", { body: { version: 1, rules: [search] } })
    expect([json.status, json.json]).toEqual([200, { version: 1, rules: [search] }])
    const yaml = await control.ask("PUT", "/rules", {
      headers: { "content-type": "application/yaml" },
      body: "version: 1\nrules:\n  - { id: one, limits: unlimited }\n",
    })
    expect([yaml.status, yaml.json.rules]).toEqual([200, [{ id: "one", limits: "unlimited" }]])
    expect(yaml.headers.get("etag")).toMatch(/^"3-/)
  })

  it("refuses the whole set if it has mistakes, and lists each with its place", async () => {
    const { status, json } = await control.ask("PUT", "/rules", {
      headers: { "content-type": "application/yaml" },
      body: "version: 1\nrules:\n  - id: one\n    limits: [{ limit: 0, window: 1m }]\n    mod: off\n",
    })
    expect([status, json.code]).toEqual([422, "RULES_INVALID"])
    expect(json.problems).toEqual([
      expect.objectContaining({ path: "rules[0].limits[0].limit", rule: "one", line: 4, column: 23 }),
      expect.objectContaining({ path: "rules[0].mod", code: "RULE_UNKNOWN_FIELD", line: 5 }),
    ])
    expect(control.core.rules.current.revision).toBe(1)
  })

  it("creates no new revision for equal rules", async () => {
    const { document } = control.core.rules.current
    const { status, headers } = await control.ask("PUT", "/rules", { body: document })
    expect([status, headers.get("sluice-revision")]).toEqual([200, "1"])
  })
})

describe("a rule", () => {
  it("is added at the end, and found at the address in Location", async () => {
    const added = await control.ask("POST", "/rules", { body: search })
    expect([added.status, added.json]).toEqual([201, search])
    const found = await control.ask("GET", String(added.headers.get("location")))
    expect(found.json).toEqual(search)
    expect(control.core.rules.current.document.rules.map(({ id }) => id)).toEqual(["login", "api", "search"])
  })

  it("is not added twice", async () => {
    const { status, json } = await control.ask("POST", "/rules", { body: { ...search, id: "login" } })
    expect([status, json.code]).toEqual([409, "RULE_DUPLICATE"])
  })

  it("is replaced in its place, or added, by PUT", async () => {
    const replaced = await control.ask("PUT", "/rules/login", { body: { limits: "unlimited" } })
    expect([replaced.status, replaced.json]).toEqual([200, { id: "login", limits: "unlimited" }])
    const added = await control.ask("PUT", "/rules/search", { body: search })
    expect(added.status).toBe(201)
    expect(control.core.rules.current.document.rules.map(({ id }) => id)).toEqual(["login", "api", "search"])
  })

  it("must have the id of its path", async () => {
    const { status, json } = await control.ask("PUT", "/rules/login", { body: search })
    expect([status, json.code]).toEqual([400, "BODY_FIELD_INVALID"])
  })

  it("is merged with a patch: null removes a field, a list is replaced as a whole", async () => {
    const { json } = await control.ask("PATCH", "/rules/login", {
      headers: { "content-type": "application/merge-patch+json" },
      body: { keyBy: null, match: { method: "POST" }, limits: [{ limit: 9, window: "1h" }] },
    })
    expect(json).toEqual({
      id: "login",
      match: { path: "/login", method: "POST" },
      limits: [{ limit: 9, window: "1h" }],
    })
  })

  it("is removed, and not found afterwards", async () => {
    const removed = await control.ask("DELETE", "/rules/login")
    expect([removed.status, removed.text, removed.headers.get("sluice-revision")]).toEqual([204, "", "2"])
    for (const method of ["GET", "DELETE", "PATCH"]) {
      const body = method === "PATCH" ? {} : undefined
      const { status, json } = await control.ask(method, "/rules/login", { body })
      expect([status, json.code]).toEqual([404, "RULE_UNKNOWN"])
    }
  })

  it("is not removed while an override names it", async () => {
    await control.ask("POST", "/overrides", {
      body: { client: "user:1", rule: "login", limits: "unlimited" },
    })
    const { status, json } = await control.ask("DELETE", "/rules/login")
    expect([status, json.problems[0].code]).toEqual([422, "RULE_REFERENCE_UNKNOWN"])
  })

  it("may have the id of a path such as validate, and can still be changed", async () => {
    await control.ask("POST", "/rules", { body: { ...search, id: "validate" } })
    expect((await control.ask("GET", "/rules/validate")).json.id).toBe("validate")
    expect((await control.ask("DELETE", "/rules/validate")).status).toBe(204)
  })
})

describe("POST /rules/validate", () => {
  it("names the guard rail that a rule set exceeds", async () => {
    const bounded = await startControl({ guardRails: { maxLimit: 5 } })
    const rules = [{ id: "a", limits: [{ limit: 6, window: "1m" }] }]
    const { json } = await bounded.ask("POST", "/rules/validate", { body: { version: 1, rules } })
    expect(json).toMatchObject({ valid: false, problems: [{ path: "rules[0].limits[0].limit" }] })
    await bounded.close()
  })

  it("reports what would change, and changes nothing", async () => {
    const { json } = await control.ask("POST", "/rules/validate", {
      body: { version: 1, rules: [search] },
      ifMatch: "",
    })
    expect(json).toMatchObject({ valid: true, changes: { added: ["search"], removed: ["login", "api"] } })
    expect(control.core.rules.current.revision).toBe(1)
  })

  it("lists every mistake with its place", async () => {
    const { status, json } = await control.ask("POST", "/rules/validate", {
      body: { version: 2, rules: [{ id: "a b", limits: [] }] },
    })
    expect([status, json.valid]).toEqual([200, false])
    expect(json.problems.map(({ path }: { path: string }) => path)).toEqual(
      expect.arrayContaining(["version", "rules[0].id", "rules[0].limits"]),
    )
  })

  it("reports where the text is not valid YAML", async () => {
    const { json } = await control.ask("POST", "/rules/validate", {
      headers: { "content-type": "text/yaml" },
      body: "version: 1\nrules: [",
    })
    expect(json).toMatchObject({ valid: false, problems: [{ code: "RULES_SYNTAX", line: 2 }] })
  })
})

describe("POST /rules/validate?rule=…", () => {
  const validate = (rule: string, body: string, type = "application/yaml") =>
    control.ask("POST", `/rules/validate?rule=${rule}`, { headers: { "content-type": type }, body })

  it("reads a single rule in place of the one with that id, and returns it", async () => {
    const { json } = await validate("login", "id: login\nmode: shadow # for a while\nlimits: unlimited\n")
    expect(json).toEqual({
      valid: true,
      problems: [],
      changes: { added: [], removed: [], changed: ["login"], sections: [] },
      rule: { id: "login", mode: "shadow", limits: "unlimited" },
    })
  })

  it.each(["", "nobody"])("reads the rule as a new one if no rule has that id: %j", async (rule) => {
    const { json } = await validate(rule, JSON.stringify(search), "application/json")
    expect(json).toMatchObject({ valid: true, changes: { added: ["search"], changed: [] }, rule: search })
    expect(control.core.rules.current.revision).toBe(1)
  })

  it("reports mistakes by their place in the text of the rule, and refuses the id of another rule", async () => {
    const { json } = await validate("", "id: api\nlimits:\n  - limit: 0\n    window: 1m\n")
    expect(json.valid).toBe(false)
    expect(json).not.toHaveProperty("rule")
    expect(json.problems).toMatchObject([
      { path: "rules[2].limits[0].limit", line: 3, column: 12 },
      { path: "rules[2].id", code: "RULE_DUPLICATE", line: 1, column: 5 },
    ])
  })
})

describe("revisions", () => {
  it("are shown unchanged, and restored as a new revision", async () => {
    const before = control.core.rules.current.document
    await control.ask("DELETE", "/rules/login")
    expect((await control.ask("GET", "/rules/revisions/1")).json).toEqual(before)
    const rolled = await control.ask("POST", "/rules/rollback", { body: { revision: 1, comment: "oops" } })
    expect([rolled.status, rolled.json, rolled.headers.get("sluice-revision")]).toEqual([200, before, "3"])
  })

  it.each(["99", "x", "-1", "1.5"])("that are not kept are not found: %s", async (revision) => {
    const { status, json } = await control.ask("GET", `/rules/revisions/${revision}`)
    expect([status, json.code]).toEqual([404, "RULES_REVISION_UNKNOWN"])
  })

  it("cannot be restored if they are not kept", async () => {
    const { status, json } = await control.ask("POST", "/rules/rollback", { body: { revision: 99 } })
    expect([status, json.code]).toEqual([404, "RULES_REVISION_UNKNOWN"])
  })
})
