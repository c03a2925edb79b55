import { request } from "node:http"
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import { startControl, type TestControl, TestWatch } from "./control-plane.test-support.js"

let control: TestControl

beforeEach(async () => {
  control = await startControl()
})

afterEach(async () => {
  expect(control.errors).toEqual([])
  await control.close()
})

describe("every answer", () => {
  it.each([
    ["GET", "/rules", 200],
    ["GET", "/nope", 404],
    ["PUT", "/livez", 405],
    ["GET", "/docs", 200],
    ["GET", "/metrics", 200],
    ["DELETE", "/rules/api", 204],
  ])(
    "to %s %s has security headers, and none that open it to other sites",
    async (method, path, expected) => {
      const { status, headers } = await control.ask(method, path)
      expect(status).toBe(expected)
      expect(headers.get("content-security-policy")).toMatch(/default-src 'self'.*frame-ancestors 'none'/)
      expect(headers.get("x-content-type-options")).toBe("nosniff")
      expect(headers.get("referrer-policy")).toBe("no-referrer")
      expect(headers.get("cache-control")).toMatch(/no-store|no-cache/)
      expect([...headers.keys()].filter((name) => name.startsWith("access-control"))).toEqual([])
    },
  )
})

describe("an unknown path or method", () => {
  it("is answered with 404 and a problem, or with 405 and the allowed methods", async () => {
    const path = await control.ask("GET", "/nope")
    expect(path.headers.get("content-type")).toBe("application/problem+json")
    expect(path.json).toMatchObject({ status: 404, title: "Not Found", code: "PATH_UNKNOWN" })
    const method = await control.ask("PUT", "/rules/validate/x")
    expect(method.json.code).toBe("PATH_UNKNOWN")
    const wrong = await control.ask("POST", "/overrides/", { body: {} })
    expect(wrong.json.code).toBe("PATH_UNKNOWN")
    const allowed = await control.ask("PATCH", "/rules", { body: {} })
    expect([allowed.status, allowed.headers.get("allow")]).toEqual([405, "GET, HEAD, PUT, POST"])
  })

  it("is answered for HEAD as for GET, without a body", async () => {
    const { status, headers, text } = await control.ask("HEAD", "/rules")
    expect([status, text]).toEqual([200, ""])
    expect(headers.get("etag")).toBe(await control.etag())
  })
})

describe("a body", () => {
  it.each([
    "text/plain",
    "application/x-www-form-urlencoded",
    "multipart/form-data; boundary=x",
    "application/yaml",
    "",
  ])("of the type %j is not read as a rule", async (type) => {
    const { status, json } = await control.ask("POST", "/rules", {
      headers: { "content-type": type },
      body: '{"id":"x","limits":"unlimited"}',
    })
    expect([status, json.code]).toEqual([415, "BODY_TYPE_UNSUPPORTED"])
  })

  it.each([
    ["{", "BODY_INVALID_JSON"],
    [" ", "BODY_INVALID_JSON"],
    ["[]", "BODY_NOT_OBJECT"],
    ["null", "BODY_NOT_OBJECT"],
    ['"text"', "BODY_NOT_OBJECT"],
    ['{"__proto__":{"mode":"off"}}', "BODY_UNKNOWN_FIELD"],
    ['{"match":{"constructor":{"prototype":{"x":1}}}}', "BODY_UNKNOWN_FIELD"],
    ["[".repeat(100_000), "BODY_INVALID_JSON"],
    [`${"[".repeat(100_000)}${"]".repeat(100_000)}`, "BODY_INVALID_JSON"],
  ])("that is not a rule is refused: %.40s", async (body, code) => {
    const { status, json } = await control.ask("PATCH", "/rules/login", { body })
    expect([status, json.code]).toEqual([400, code])
    expect(Object.prototype).not.toHaveProperty("mode")
    expect(control.core.rules.current.revision).toBe(1)
  })

  it("that is not UTF-8 is refused", async () => {
    const response = await fetch(`${control.url}/rules`, {
      method: "POST",
      headers: { "content-type": "application/json", "if-match": "*" },
      body: Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]),
    })
    expect([response.status, ((await response.json()) as { code: string }).code]).toEqual([
      400,
      "BODY_INVALID_JSON",
    ])
  })

  it("may have at most 256 KiB", async () => {
    const rule = (length: number) => {
      const empty = JSON.stringify({ id: "x", limits: "unlimited", description: "" })
      return JSON.stringify({ id: "x", limits: "unlimited", description: "x".repeat(length - empty.length) })
    }
    // A description of a rule may have 1,000 characters, so this one is read and then refused.
    expect((await control.ask("POST", "/rules", { body: rule(262_144) })).status).toBe(422)
    const { status, json } = await control.ask("POST", "/rules", { body: rule(262_145) })
    expect([status, json.code]).toEqual([413, "BODY_TOO_LARGE"])
  })

  it("that announces far too much is not read", async () => {
    const status = await new Promise((resolve, reject) => {
      const sent = request({
        host: "127.0.0.1",
        port: control.port,
        method: "POST",
        path: "/rules",
        headers: { "content-type": "application/json", "content-length": 1e9, "if-match": "*" },
      })
      sent.on("response", (response) => {
        resolve([response.statusCode, response.headers.connection])
        sent.destroy()
      })
      sent.on("error", reject)
      sent.flushHeaders()
    })
    expect(status).toEqual([413, "close"])
  })

  it("of deeply nested or recursive YAML is refused", async () => {
    for (const body of ["- ".repeat(100_000), "a: &a [*a]", "{".repeat(10_000)]) {
      const { status } = await control.ask("PUT", "/rules", {
        headers: { "content-type": "application/yaml" },
        body,
      })
      expect(status).toBe(422)
    }
  })
})

describe("a query", () => {
  it.each([
    "/top?by=nobody",
    "/top?limit=0",
    "/top?limit=1001",
    "/top?limit=ten",
    "/top?limit=5&limit=6",
    "/top?x=1",
    "/rules?x=1",
    "/top?__proto__=1",
    "/audit?limit=1e3",
  ])("that cannot be read is refused: %s", async (path) => {
    const { status, json } = await control.ask("GET", path)
    expect([status, json.code]).toEqual([400, "QUERY_INVALID"])
  })
})

describe("watching", () => {
  it("shows the most denied keys, or the most used ones on request", async () => {
    expect((await control.ask("GET", "/top")).json[0].key).toContain("by denied")
    expect((await control.ask("GET", "/top?by=used&limit=1")).json[0].key).toContain("by used")
  })

  it("answers metrics in the format of Prometheus", async () => {
    const { headers, text } = await control.ask("GET", "/metrics")
    expect(headers.get("content-type")).toBe("text/plain; version=0.0.4; charset=utf-8")
    expect(text).toContain("sluice_up 1")
  })

  it("answers the version", async () => {
    const { json } = await control.ask("GET", "/version")
    expect(json).toEqual({ version: "0.0.0", node: process.versions.node, revision: 1 })
  })

  it("is not ready while it drains, but live", async () => {
    await control.close()
    control = await startControl({ readiness: { isReady: false, report: () => ({ status: "draining" }) } })
    const { status, json } = await control.ask("GET", "/readyz")
    expect([status, json]).toEqual([503, { status: "draining" }])
    expect((await control.ask("GET", "/livez")).status).toBe(200)
  })
})

it("answers 500 without details when a handler throws, and logs the error", async () => {
  await control.close()
  const broken = new TestWatch()
  broken.metrics = () => {
    throw new Error("password=hunter2")
  }
  control = await startControl({ watch: broken })
  const { status, json, text } = await control.ask("GET", "/metrics")
  expect([status, json.code]).toEqual([500, "INTERNAL"])
  expect(text).not.toContain("hunter2")
  expect(control.errors.splice(0)).toEqual([expect.objectContaining({ message: "password=hunter2" })])
})
