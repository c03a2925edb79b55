import { connect } from "node:net"
import { text } from "node:stream/consumers"
import { afterEach, describe, expect, it } from "vitest"
import { testCore } from "../core.test-support.js"
import { jsonAnswer } from "../http/answer.js"
import { newToken } from "../http/tokens.js"
import type { CheckApiOptions } from "./check-api.js"
import { startPlane, type TestPlane } from "./check-api.test-support.js"

const RULES = `
version: 1
rules:
  - id: per-user
    match: { path: /v1/** }
    keyBy: user
    limits: [{ algorithm: fixed-window, limit: 5, window: 1m }]
`
const CHECK = { path: "/v1/items", user: "42" }
const KEY = { rule: "per-user", key: "user:42" }

const planes: TestPlane[] = []

async function start(options: CheckApiOptions = {}): Promise<TestPlane> {
  const plane = await startPlane(testCore(RULES), options)
  planes.push(plane)
  return plane
}

afterEach(async () => {
  for (const plane of planes.splice(0)) {
    expect(plane.errors).toEqual([])
    await plane.close()
  }
})

/** A request written by hand: `fetch` sets some headers itself. `{host}` stands for the address of the service. */
async function ask(plane: TestPlane, path: string, body: object, headers: Record<string, string>) {
  const { host } = new URL(plane.url)
  const given = Object.entries({ host: "{host}", ...headers, connection: "close" })
  const json = JSON.stringify(body)
  const lines = given.map(([name, value]) => `${name}: ${value.replace("{host}", host)}\r\n`).join("")
  const socket = connect(Number(new URL(plane.url).port), "127.0.0.1")
  socket.write(`POST ${path} HTTP/1.1\r\n${lines}content-length: ${json.length}\r\n\r\n${json}`)
  const heard = await text(socket)
  const [head = "", sent = ""] = heard.split("\r\n\r\n")
  return { status: Number(head.split(" ")[1]), head, code: (JSON.parse(sent) as { code?: string }).code }
}

async function remaining(plane: TestPlane): Promise<number> {
  return (await plane.post("/v1/peek", CHECK)).json.remaining
}

describe("a page in a browser", () => {
  it.each<[string, Record<string, string>]>([
    ["another site", { origin: "https://evil.example", "content-type": "text/plain" }],
    ["a file", { origin: "null" }],
    ["another site, in a form without an origin", { referer: "https://evil.example/page" }],
    ["another site, as the browser says", { "sec-fetch-site": "cross-site" }],
    ["another port", { "sec-fetch-site": "same-site" }],
    ["a name that was made to resolve to us", { host: "evil.example:80", origin: "http://evil.example:80" }],
    ["such a name, without an origin", { host: "evil.example", referer: "http://evil.example/" }],
  ])("of %s can neither check, refund, reset nor call POST /json", async (_site, headers) => {
    const plane = await start({ json: () => jsonAnswer("{}") })
    await plane.post("/v1/check", CHECK)
    for (const [path, body] of [
      ["/v1/check", CHECK],
      ["/v1/check/batch", { checks: [CHECK] }],
      ["/v1/explain", CHECK],
      ["/v1/refund", KEY],
      ["/v1/reset", KEY],
      ["/json", {}],
    ] as const) {
      const { status, code } = await ask(plane, path, body, headers)
      expect([path, status, code]).toEqual([path, 403, "ORIGIN_REFUSED"])
    }
    expect(await remaining(plane)).toBe(4)
  })

  it("served by this service may check, under an allowed address or name", async () => {
    const plane = await start({ access: { allowedHosts: ["Sluice.example"] } })
    const own = { origin: "http://{host}", "sec-fetch-site": "same-origin" }
    expect((await ask(plane, "/v1/check", CHECK, own)).status).toBe(200)
    const named = { host: "sluice.example", origin: "http://sluice.example" }
    expect((await ask(plane, "/v1/check", CHECK, named)).status).toBe(200)
  })
})

describe("a program", () => {
  it.each(["sluice:8080", "sluice.default.svc", "[2001:db8::1]:8080"])(
    "may check with any Host header: %s",
    async (host) => {
      const plane = await start()
      expect((await ask(plane, "/v1/check", CHECK, { host })).status).toBe(200)
      // Node's own fetch sends this.
      expect((await ask(plane, "/v1/check", CHECK, { host, "sec-fetch-mode": "cors" })).status).toBe(200)
    },
  )

  it("on this machine may refund and reset while no tokens are configured; other machines may not", async () => {
    const plane = await start()
    await plane.post("/v1/check", CHECK)
    expect((await ask(plane, "/v1/reset", KEY, {})).status).toBe(200)
    for (const headers of [{ host: "sluice:8080" }, { "x-forwarded-for": "192.0.2.1" }]) {
      const { status, code } = await ask(plane, "/v1/refund", KEY, headers as Record<string, string>)
      expect([status, code]).toEqual([403, "ORIGIN_REFUSED"])
    }
  })

  it("needs a token for refund and reset once tokens are configured, and for every route if configured so", async () => {
    const token = newToken()
    const tokens = [{ name: "shop", token }]
    const authorization = `Bearer ${token}`
    const some = await start({ access: { tokens } })
    expect((await ask(some, "/v1/check", CHECK, {})).status).toBe(200)
    const refused = await ask(some, "/v1/reset", KEY, {})
    expect([refused.status, refused.code]).toEqual([401, "TOKEN_REQUIRED"])
    expect(refused.head.toLowerCase()).toContain("www-authenticate: bearer")
    expect((await ask(some, "/v1/reset", KEY, { authorization: `Bearer ${newToken()}` })).status).toBe(401)
    expect((await ask(some, "/v1/reset", KEY, { host: "sluice:8080", authorization })).status).toBe(200)
    const all = await start({ access: { tokens, requireToken: true } })
    expect((await ask(all, "/v1/check", CHECK, {})).status).toBe(401)
    expect((await ask(all, "/v1/check", CHECK, { authorization })).status).toBe(200)
    expect((await all.get("/livez")).status).toBe(200)
  })

  it("gets 404 for refund and reset when they are turned off", async () => {
    const plane = await start({ refundAndReset: false })
    expect((await plane.post("/v1/reset", KEY)).status).toBe(404)
    expect((await plane.post("/v1/refund", KEY)).status).toBe(404)
  })
})
