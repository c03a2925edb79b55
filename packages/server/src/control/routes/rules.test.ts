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
  it("gives the document in force with a strong etag and its revision", async () => {
    const { status, headers, json } = await control.ask("GET", "/rules")
    expect(status).toBe(200)
    expect(json).toEqual(control.core.rules.current.document)
    expect(headers.get("etag")).toMatch(/^"1-[0-9a-f]{16}"$/)
    expect(headers.get("sluice-revision")).toBe("1")
  })

  it("gives the same as YAML, under another etag", async () => {
    const yaml = await control.ask("GET", "/rules", { headers: { accept: "application/yaml" } })
    expect(yaml.headers.get("content-type")).toBe("application/yaml")
    expect(yaml.headers.get("vary")).toBe("accept")
    expect(parse(yaml.text)).toEqual(control.core.rules.current.document)
    expect(yaml.headers.get("etag")).not.toBe(await control.etag())
  })

  it("answers 304 to who has it already, and the rules once they have changed", async () => {
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
  ])("is refused by %s %s without if-match, and when it is stale", async (method, path, body) => {
    const none = await control.ask(method, path, { body, ifMatch: "" })
    expect([none.status, none.json.code]).toEqual([428, "IF_MATCH_REQUIRED"])
    const stale = await control.ask(method, path, { body, ifMatch: '"1-0000000000000000"' })
    expect([stale.status, stale.json.code]).toEqual([412, "RULES_CONFLICT"])
    expect(stale.headers.get("etag")).toBe(await control.etag())
    expect(control.core.rules.current.revision).toBe(1)
  })

  it("may be made on the etag of either format, on one of a list, and not on a weak one", async () => {
    const etag = await control.etag()
    const yaml = await control.ask("GET", "/rules", { headers: { accept: "application/yaml" } })
    const patch = (mode: string, ifMatch: string) =>
      control.ask("PATCH", "/rules/login", { body: { mode }, ifMatch })
    expect((await patch("off", `W/${etag}`)).status).toBe(412)
    expect((await patch("off", String(yaml.headers.get("etag")))).status).toBe(200)
    expect((await patch("shadow", `"other", ${await control.etag()}`)).status).toBe(200)
    expect((await patch("enforce", etag)).status).toBe(412)
  })

  it("wins once when many are made on the same revision at the same time", async () => {
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

  it("decides the next request", async () => {
    await control.ask("PATCH", "/rules/login", { body: { limits: [{ limit: 1, window: "1m" }] } })
    const decision = await control.core.engine.check({ path: "/login", ip: "192.0.2.1" })
    expect([decision.limit, decision.revision]).toEqual([1, 2])
  })

  it("keeps its comment and who made it in the history", async () => {
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

  it("refuses a set with mistakes whole, and lists every one with its place", async () => {
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

  it("makes no new revision of what is in force already", async () => {
    const { document } = control.core.rules.current
    const { status, headers } = await control.ask("PUT", "/rules", { body: document })
    expect([status, headers.get("sluice-revision")]).toEqual([200, "1"])
  })
})

describe("a rule", () => {
  it("is added at the end, and found where location says", async () => {
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

  it("keeps the id that its path has", async () => {
    const { status, json } = await control.ask("PUT", "/rules/login", { body: search })
    expect([status, json.code]).toEqual([400, "BODY_FIELD_INVALID"])
  })

  it("is merged with a patch: null takes a field away, a list is replaced whole", async () => {
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

  it("is removed, and then gone", async () => {
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

  it("may be called as a path in words is, and still be changed", async () => {
    await control.ask("POST", "/rules", { body: { ...search, id: "validate" } })
    expect((await control.ask("GET", "/rules/validate")).json.id).toBe("validate")
    expect((await control.ask("DELETE", "/rules/validate")).status).toBe(204)
  })
})

describe("POST /rules/validate", () => {
  it("says what would change, and changes nothing", async () => {
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

  it("tells where text is no YAML", async () => {
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

  it("reads a single rule in the place of the one with that id, and gives it back", async () => {
    const { json } = await validate("login", "id: login\nmode: shadow # for a while\nlimits: unlimited\n")
    expect(json).toEqual({
      valid: true,
      problems: [],
      changes: { added: [], removed: [], changed: ["login"], sections: [] },
      rule: { id: "login", mode: "shadow", limits: "unlimited" },
    })
  })

  it.each(["", "nobody"])("takes it for a new one where there is none: %j", async (rule) => {
    const { json } = await validate(rule, JSON.stringify(search), "application/json")
    expect(json).toMatchObject({ valid: true, changes: { added: ["search"], changed: [] }, rule: search })
    expect(control.core.rules.current.revision).toBe(1)
  })

  it("places mistakes in the text of the rule, and refuses an id that another has", async () => {
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
  it("are shown as they were, and put in force again as a new one", async () => {
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

  it("are not rolled back to one that is not kept", async () => {
    const { status, json } = await control.ask("POST", "/rules/rollback", { body: { revision: 99 } })
    expect([status, json.code]).toEqual([404, "RULES_REVISION_UNKNOWN"])
  })
})
