// A credential that is sent twice, or in another spelling, is no second client: on every way into the gateway.

import { once } from "node:events"
import { type IncomingMessage, request } from "node:http"
import { connect, createSecureServer, type IncomingHttpHeaders } from "node:http2"
import type { AddressInfo } from "node:net"
import { text } from "node:stream/consumers"
import { describe, expect, it, onTestFinished } from "vitest"
import { makeCertificate } from "../../../../test/support/certificate.js"
import { KEY_BY, PLACES, type Spelling, seeded, spelling } from "../../../../test/support/spellings.js"
import { testCore } from "../core.test-support.js"
import { Gateway } from "./front/gateway.js"
import { LOOPBACK, startGateway, startUpstream, testRoute, testTarget } from "./front/gateway.test-support.js"
import { createLimiting } from "./front/limiting.js"

const LIMIT = 3

const rules = (keyBy: string) => `
version: 1
identity: { apiKey: { header: x-api-key, query: api_key } }
rules:
  - { id: api, keyBy: "${keyBy}", limits: [{ algorithm: fixed-window, limit: ${LIMIT}, window: 1h }] }
`

function limitingBy(keyBy: string) {
  const core = testCore(rules(keyBy))
  onTestFinished(() => core.close())
  return createLimiting(core, { clock: core.clock })
}

async function start(keyBy: string) {
  const upstream = await startUpstream((_, response) => response.end("ok"))
  const { url } = await startGateway(upstream.origin, { limiting: limitingBy(keyBy) })
  return { upstream, send: (spelled: Spelling) => send(url, spelled) }
}

async function send(url: string, { target, lines }: Spelling) {
  const headers = ["Host", new URL(url).host, ...lines]
  const call = request(url, { path: target, headers, agent: false }).end()
  const [answer] = (await once(call, "response")) as [IncomingMessage]
  return { status: answer.statusCode, body: await text(answer) }
}

const TWICE: [string, string, (junk: string) => Spelling][] = [
  [
    "an API key in a header",
    "apiKey",
    (junk) => ({ target: "/", lines: ["X-Api-Key", "REAL", "X-Api-Key", junk] }),
  ],
  [
    "an API key in a header that CGI takes for the same",
    "apiKey",
    (junk) => ({ target: "/", lines: ["X-Api-Key", junk, "X_Api_Key", "REAL"] }),
  ],
  ["an API key in the query", "apiKey", (junk) => ({ target: `/?API_KEY=${junk}&api_key=REAL`, lines: [] })],
  [
    "an API key in both places",
    "apiKey",
    (junk) => ({ target: "/?api_key=REAL", lines: ["X-Api-Key", junk] }),
  ],
  ["a cookie", "cookie:sid", (junk) => ({ target: "/", lines: ["Cookie", `sid=${junk}; sid=REAL`] })],
  [
    "an authorization",
    "header:authorization",
    (junk) => ({ target: "/", lines: ["Authorization", `Bearer ${junk}`, "Authorization", "Bearer REAL"] }),
  ],
]

describe("requests", () => {
  it.each(TWICE)("with %s twice are answered 400, and none is forwarded", async (_, keyBy, spelled) => {
    const { upstream, send } = await start(keyBy)
    for (let i = 0; i < LIMIT + 2; i++) {
      const { status, body } = await send(spelled(`j${i}`))
      expect(status).toBe(400)
      expect(JSON.parse(body)).toMatchObject({ code: "KEY_AMBIGUOUS" })
    }
    expect(upstream.requests).toHaveLength(0)
  })

  it.each(PLACES)("are limited the same, however a credential in a %s is spelled", async (place) => {
    const { upstream, send } = await start(KEY_BY[place])
    const random = seeded(11)
    for (let i = 0; i < 30; i++) {
      const { status } = await send(spelling(place, "REAL", random))
      expect([200, 400, 429]).toContain(status)
    }
    expect(upstream.requests).toHaveLength(LIMIT)
  })

  it("count a parameter of the path once, however it is spelled", async () => {
    const core = testCore(`
version: 1
rules:
  - id: users
    match: { path: "/users/:id" }
    keyBy: "param:id"
    limits: [{ algorithm: fixed-window, limit: 1, window: 1h }]
`)
    onTestFinished(() => core.close())
    const upstream = await startUpstream((_, response) => response.end("ok"))
    const limiting = createLimiting(core, { clock: core.clock })
    const { url } = await startGateway(upstream.origin, { limiting })
    const seen: (number | undefined)[] = []
    for (const target of ["/users/bob", "/users/BOB", "/users/%62ob", "/users/bob/", "/users//bob;x=1"])
      seen.push((await send(url, { target, lines: [] })).status)
    expect(seen).toEqual([200, 429, 429, 429, 429])
  })
})

describe("over HTTP/2", () => {
  async function open(keyBy: string) {
    const certificate = makeCertificate()
    const upstream = await startUpstream((_, response) => response.end("ok"))
    const route = testRoute([testTarget(upstream.origin)], {})
    const gateway = new Gateway({ routes: { find: () => route }, limiting: limitingBy(keyBy) })
    const server = createSecureServer({ cert: certificate.cert, key: certificate.key })
    server.on("request", (request, response) => gateway.handleHttp2(request, response)).listen(0, LOOPBACK)
    await once(server, "listening")
    const { port } = server.address() as AddressInfo
    const client = connect(`https://localhost:${port}`, { ca: certificate.cert, host: LOOPBACK } as object)
    onTestFinished(async () => {
      client.destroy()
      await new Promise((resolve) => server.close(resolve))
    })
    const ask = async (headers: Record<string, string | string[]>) => {
      const stream = client.request({ ":path": "/", ...headers })
      const [answer] = (await once(stream, "response")) as [IncomingHttpHeaders]
      await text(stream)
      return answer[":status"]
    }
    return { ask, upstream }
  }

  it("joins cookies of several fields, and refuses the same cookie twice", async () => {
    const { ask, upstream } = await open("cookie:sid")
    for (let i = 0; i < LIMIT; i++) expect(await ask({ cookie: [`a=${i}`, "sid=REAL"] })).toBe(200)
    expect(await ask({ cookie: ["a=9", "sid=REAL"] })).toBe(429)
    expect(await ask({ cookie: ["sid=junk", "sid=REAL"] })).toBe(400)
    expect(upstream.requests).toHaveLength(LIMIT)
  })

  it("refuses an API key in two fields", async () => {
    const { ask, upstream } = await open("apiKey")
    expect(await ask({ "x-api-key": ["REAL", "junk"] })).toBe(400)
    expect(upstream.requests).toHaveLength(0)
  })
})
