// Rules, for clients that speak HTTP/2.

import { once } from "node:events"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { type ClientHttp2Session, connect, type IncomingHttpHeaders } from "node:http2"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { describe, expect, it } from "vitest"
import { makeCertificate } from "../support/certificate.js"
import { eventually } from "../support/eventually.js"
import { afterThis, type Backend, openBackend, openGateway } from "./bed.js"

async function openSession(upstream: Backend, rules: string) {
  const folder = mkdtempSync(join(tmpdir(), "sluice-http2-"))
  afterThis(() => rmSync(folder, { recursive: true }))
  const { cert, key } = makeCertificate()
  const tls = { cert: join(folder, "cert.pem"), key: join(folder, "key.pem") }
  writeFileSync(tls.cert, cert)
  writeFileSync(tls.key, key)
  const gateway = await openGateway({ upstream, rules, settings: { tls } })
  const session = connect(gateway.url.replace("http:", "https:"), { ca: cert })
  afterThis(() => session.destroy())
  return { gateway, session }
}

interface Answer {
  readonly status: number | undefined
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

async function ask(
  session: ClientHttp2Session,
  path: string,
  more: Record<string, string> = {},
): Promise<Answer> {
  const stream = session.request({ ":path": path, ...more })
  const [headers] = (await once(stream, "response")) as [IncomingHttpHeaders & { ":status"?: number }]
  let body = ""
  for await (const piece of stream) body += piece
  return { status: headers[":status"], headers, body }
}

const rules = (more: string) =>
  `version: 1\nrules: [{ id: api, limits: [{ limit: 10, window: 1h, algorithm: fixed-window }] ${more} }]`

describe("over HTTP/2", () => {
  it("an allowed request gets the headers of its limit, and a denied one a problem", async () => {
    const backend = await openBackend()
    const { session } = await openSession(backend, rules(", cost: 10"))
    const passed = await ask(session, "/a")
    expect([passed.status, passed.body]).toEqual([200, "from the backend"])
    expect(passed.headers["x-ratelimit-remaining"]).toBe("0")
    const denied = await ask(session, "/b")
    expect(denied.status).toBe(429)
    expect(JSON.parse(denied.body)).toMatchObject({ status: 429, rule: "api" })
    expect(backend.seen).toEqual(["GET /a"])
  })

  it("a request that expects something unknown is limited like all others", async () => {
    const backend = await openBackend()
    const { session } = await openSession(backend, rules(", cost: 10"))
    expect((await ask(session, "/a", { expect: "x" })).status).toBe(417)
    expect((await ask(session, "/b", { expect: "x" })).status).toBe(429)
    expect(backend.seen).toEqual([])
  })

  it("an upload is denied before it is sent, and others on the connection go on", async () => {
    const backend = await openBackend()
    const { session } = await openSession(backend, rules(", match: { method: POST }, cost: 10"))
    const upload = () => session.request({ ":method": "POST", ":path": "/" })
    const first = upload().end("small")
    await once(first, "response")
    first.resume()
    const second = upload()
    second.on("error", () => undefined)
    const [headers] = (await once(second, "response")) as [{ ":status": number }]
    expect(headers[":status"]).toBe(429)
    expect((await ask(session, "/still")).status).toBe(200)
    expect(backend.seen).toEqual(["POST /", "GET /still"])
  })

  it("the cost in the answer is charged", async () => {
    const backend = await openBackend((_request, response) => response.setHeader("x-cost", "4").end())
    const { gateway, session } = await openSession(backend, rules(", cost: { responseHeader: x-cost }"))
    expect((await ask(session, "/")).headers["x-ratelimit-remaining"]).toBe("9")
    await eventually(
      async () => (await gateway.core.engine.peek({ path: "/", ip: "127.0.0.1" })).remaining === 6,
    )
  })
})
