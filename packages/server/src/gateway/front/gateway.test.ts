import { once } from "node:events"
import { type IncomingMessage, request } from "node:http"
import { text } from "node:stream/consumers"
import { compileTrustProxy } from "sluice/http"
import { noProxies } from "sluice/internal"
import { describe, expect, it } from "vitest"
import { eventually } from "../../../../../test/support/eventually.js"
import { lastRequest, startGateway, startRawUpstream, startUpstream, talk } from "./gateway.test-support.js"
import type { Limiting } from "./limiting.js"

/** What the upstream saw, as JSON. */
const echo = () =>
  startUpstream(async (request, response) => {
    const { method, url, rawHeaders } = request
    const body = await text(request)
    response.end(JSON.stringify({ method, url, rawHeaders, body }))
  })

interface Seen {
  method: string
  url: string
  headers: Record<string, string[]>
  body: string
}

async function seen(answer: string | Promise<string>): Promise<Seen> {
  const reply = await answer
  const { rawHeaders, ...rest } = JSON.parse(reply.slice(reply.indexOf("{"), reply.lastIndexOf("}") + 1))
  const headers: Record<string, string[]> = {}
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i].toLowerCase()
    headers[name] = [...(headers[name] ?? []), rawHeaders[i + 1]]
  }
  return { ...rest, headers }
}

describe("a forwarded request", () => {
  it("reaches the upstream with its method, path, query, headers and body", async () => {
    const { url } = await startGateway((await echo()).origin)
    const answer = await fetch(`${url}/items/7?sort=a%20b&x=%2F`, {
      method: "PATCH",
      headers: { "x-custom": "1", authorization: "Bearer t" },
      body: "name=new",
    })
    const { method, url: path, headers, body } = await seen(answer.text())
    expect({ method, path, body }).toEqual({
      method: "PATCH",
      path: "/items/7?sort=a%20b&x=%2F",
      body: "name=new",
    })
    expect(headers).toMatchObject({ "x-custom": ["1"], authorization: ["Bearer t"], "content-length": ["8"] })
  })

  it("is forwarded with its canonical path, and refused if it has none", async () => {
    const upstream = await echo()
    const { port } = await startGateway(upstream.origin)
    const get = (target: string) => talk(port, lastRequest(`GET ${target}`))
    expect((await seen(get("/a/./b/c/../%7Euser//%41?q=/../"))).url).toBe("/a/b/~user/A?q=/../")
    for (const target of [
      "/a%2fb",
      "/a%5cb",
      "/a\\b",
      "/%252e%252e/x",
      "/../x",
      "/a%00",
      "*",
      "http://else.example/x",
    ]) {
      expect(await get(target), target).toMatch(/^HTTP\/1.1 400 /)
    }
    expect(upstream.requests).toHaveLength(1)
  })

  it("loses the prefix that its route strips, and no similar prefix", async () => {
    const { url } = await startGateway((await echo()).origin, { route: { stripPrefix: "/api" } })
    const path = async (target: string) => (await seen(fetch(url + target).then((a) => a.text()))).url
    expect(await path("/api/x/y?z=1")).toBe("/x/y?z=1")
    expect(await path("/api")).toBe("/")
    expect(await path("/api?z=1")).toBe("/?z=1")
    expect(await path("/apix")).toBe("/apix")
  })

  it("loses its hop-by-hop headers", async () => {
    const { port } = await startGateway((await echo()).origin)
    const { headers } = await seen(
      talk(
        port,
        [
          "GET / HTTP/1.1",
          "host: shop.example",
          "connection: close, x-secret, X-Other",
          "x-secret: 1",
          "x-other: 2",
          "keep-alive: timeout=5",
          "proxy-connection: keep-alive",
          "proxy-authorization: Basic x",
          "te: gzip, trailers;q=0.5",
          "upgrade: websocket",
          "x-kept: 3",
          "\r\n",
        ].join("\r\n"),
      ),
    )
    expect(headers.connection).toEqual(["keep-alive"])
    expect(headers.te).toEqual(["trailers"])
    expect(headers["x-kept"]).toEqual(["3"])
    for (const name of [
      "x-secret",
      "x-other",
      "keep-alive",
      "proxy-connection",
      "proxy-authorization",
      "upgrade",
    ])
      expect(headers, name).not.toHaveProperty(name)
  })

  it("carries the address of the client, whatever the client claims", async () => {
    const { port } = await startGateway((await echo()).origin)
    const { headers } = await seen(
      talk(
        port,
        lastRequest(
          "GET /public",
          "x-forwarded-for: 10.0.0.1",
          "x_forwarded_for: 10.0.0.1",
          "X-Forwarded-Host: evil.example",
          "x-forwarded-proto: https",
          "x-forwarded-port: 1",
          "forwarded: for=10.0.0.1",
          "x-real-ip: 10.0.0.1",
          "x-original-url: /admin",
          "x-rewrite-url: /admin",
          "via: 1.0 somebody",
        ),
      ),
    )
    expect(headers).toMatchObject({
      host: ["shop.example"],
      "x-forwarded-for": ["127.0.0.1"],
      "x-forwarded-host": ["shop.example"],
      "x-forwarded-proto": ["http"],
      forwarded: ["for=127.0.0.1;host=shop.example;proto=http"],
      via: ["1.0 somebody, 1.1 sluice"],
    })
    for (const name of [
      "x_forwarded_for",
      "x-forwarded-port",
      "x-real-ip",
      "x-original-url",
      "x-rewrite-url",
    ])
      expect(headers, name).not.toHaveProperty(name)
  })

  it("keeps the forwarded addresses of a trusted proxy, and adds the proxy", async () => {
    const trusted = compileTrustProxy(["loopback"])
    const { port, ended } = await startGateway((await echo()).origin, { limiting: open({ trusted }) })
    const { headers } = await seen(
      talk(
        port,
        lastRequest(
          "GET /",
          "x-forwarded-for: 6.6.6.6, 203.0.113.7",
          "x-forwarded-host: front.example",
          "x-forwarded-proto: https",
          "forwarded: for=6.6.6.6",
          "x-real-ip: 203.0.113.7",
        ),
      ),
    )
    expect(headers).toMatchObject({
      "x-forwarded-for": ["6.6.6.6, 203.0.113.7, 127.0.0.1"],
      "x-forwarded-host": ["front.example"],
      "x-forwarded-proto": ["https"],
      // Nobody trusted keeps this one, so the client's is not believed.
      forwarded: ["for=203.0.113.7;host=front.example;proto=https, for=127.0.0.1"],
      "x-real-ip": ["203.0.113.7"],
    })
    expect((await eventually(() => ended[0])).clientIp).toBe("203.0.113.7")
  })

  it("appends to Forwarded if that is the configured header", async () => {
    const trusted = compileTrustProxy(["loopback"], { header: "forwarded" })
    const { port } = await startGateway((await echo()).origin, { limiting: open({ trusted }) })
    const said = ["forwarded: for=203.0.113.7;proto=https;host=front.example", "x-forwarded-for: 6.6.6.6"]
    const { headers } = await seen(talk(port, lastRequest("GET /", ...said)))
    expect(headers).toMatchObject({
      "x-forwarded-for": ["203.0.113.7, 127.0.0.1"],
      "x-forwarded-proto": ["https"],
      forwarded: [
        "for=203.0.113.7;proto=https;host=front.example, for=127.0.0.1;host=shop.example;proto=http",
      ],
    })
  })

  it("carries the Host of its upstream unless the route keeps the client's", async () => {
    const upstream = await echo()
    const { port } = await startGateway(upstream.origin, { route: { keepHost: false } })
    const { headers } = await seen(talk(port, lastRequest("GET /")))
    expect(headers).toMatchObject({
      host: [`127.0.0.1:${upstream.port}`],
      "x-forwarded-host": ["shop.example"],
    })
  })

  it("is framed again: chunked or with a length, as it came, and never both", async () => {
    const upstream = await startRawUpstream((socket, received) => {
      if (received.endsWith("0\r\nX-Sum: 9\r\n\r\n"))
        socket.write("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")
    })
    const { port } = await startGateway(upstream.origin)
    const head = lastRequest("POST /", "Transfer-Encoding: Chunked", "Trailer: X-Sum")
    const answer = await talk(port, `${head}3;x=y\r\nabc\r\n0\r\nX-Sum: 9\r\nAuthorization: x\r\n\r\n`)
    expect(answer).toMatch(/^HTTP\/1.1 200 OK\r\n/)
    expect(upstream.received[0]).toMatch(/\r\ntrailer: X-Sum\r\ntransfer-encoding: chunked\r\n/)
    // A trailer that would have had to come first is not passed on.
    expect(upstream.received[0]).toMatch(/\r\n\r\n3\r\nabc\r\n0\r\nX-Sum: 9\r\n\r\n$/)
    expect(upstream.received[0]?.toLowerCase()).not.toContain("content-length")
  })
})

describe("an answer", () => {
  it("reaches the client with its status, reason, headers and body", async () => {
    const upstream = await startUpstream((_request, response) => {
      response.writeHead(418, "Short and stout", ["Set-Cookie", "a=1", "Set-Cookie", "b=2", "X-Kept", "ä"])
      response.end("tea")
    })
    const { port, ended } = await startGateway(upstream.origin)
    const answer = await talk(port, lastRequest("GET /pot?with=tea", "user-agent: test", "referer: there"))
    expect(answer).toMatch(/^HTTP\/1.1 418 Short and stout\r\n/)
    expect(answer).toContain("Set-Cookie: a=1\r\nSet-Cookie: b=2\r\nX-Kept: ä\r\n")
    expect(answer).toMatch(/\r\n\r\ntea$/)
    expect(await eventually(() => ended[0])).toMatchObject({
      method: "GET",
      host: "shop.example",
      path: "/pot",
      httpVersion: "1.1",
      clientIp: "127.0.0.1",
      userAgent: "test",
      referer: "there",
      status: 418,
      bytesIn: 0,
      bytesOut: 3,
      queuedMs: 0,
      error: undefined,
    })
    expect(ended[0]?.upstreamMs).toBeLessThanOrEqual(ended[0]?.durationMs as number)
  })

  it("loses its hop-by-hop headers", async () => {
    const upstream = await startRawUpstream((socket) => {
      const headers = [
        "connection: x-hop, close",
        "x-hop: 1",
        "keep-alive: timeout=9",
        "proxy-authenticate: x",
      ]
      const more = ["upgrade: h2c", "x-kept: 2", "content-length: 2"]
      socket.end(`HTTP/1.1 200 OK\r\n${[...headers, ...more].join("\r\n")}\r\n\r\nok`)
    })
    const { port } = await startGateway(upstream.origin)
    const answer = await talk(
      port,
      "GET / HTTP/1.1\r\nhost: a\r\n\r\nGET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n",
    )
    expect(answer.match(/x-kept: 2/g)).toHaveLength(2)
    expect(answer).not.toMatch(/x-hop|timeout=9|proxy-authenticate|upgrade/i)
    // The upstream closes its connection, we keep the client's.
    expect(answer).toMatch(/Connection: keep-alive/)
  })

  it("to HEAD has the headers of the body and no body, and 204 and 304 have none", async () => {
    const upstream = await startUpstream((request, response) => {
      const status = Number(request.url?.slice(1))
      response.writeHead(status, status === 204 ? {} : { "content-length": "5", etag: '"x"' })
      response.end(request.method === "HEAD" || status !== 200 ? undefined : "hello")
    })
    const { port, targets } = await startGateway(upstream.origin)
    const one = (line: string) => `${line} HTTP/1.1\r\nhost: a\r\n\r\n`
    const answer = await talk(
      port,
      one("HEAD /200"),
      one("GET /204"),
      one("GET /304"),
      lastRequest("GET /200"),
    )
    const heads = answer.split("\r\n\r\n")
    expect(heads[0]).toMatch(/200 OK\r\ncontent-length: 5/)
    expect(heads[1]).toMatch(/^HTTP\/1.1 204 No Content/)
    expect(heads[1]).not.toMatch(/content-length|transfer-encoding/i)
    expect(heads[2]).toMatch(/^HTTP\/1.1 304 Not Modified\r\ncontent-length: 5/)
    expect(heads[4]).toBe("hello")
    // All on as many connections as were asked on at once: none was spoilt.
    expect(targets[0]?.outcomes).toEqual(Array(4).fill("answered"))
  })

  it("without content has no length, even if the upstream announces chunks", async () => {
    const upstream = await startRawUpstream((socket, received) => {
      const status = received.includes("/304") ? "304 Not Modified" : "204 No Content"
      socket.end(`HTTP/1.1 ${status}\r\ntransfer-encoding: chunked\r\n\r\n`)
    })
    const { port } = await startGateway(upstream.origin)
    for (const status of [204, 304]) {
      const answer = await talk(port, lastRequest(`GET /${status}`))
      expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${status} `))
      expect(answer).not.toMatch(/content-length|transfer-encoding/i)
    }
  })

  it("keeps its trailers", async () => {
    const upstream = await startUpstream((_request, response) => {
      response.writeHead(200, { trailer: "x-sum" })
      response.write("a")
      response.addTrailers({ "x-sum": "9", "x-other": "8" })
      response.end("b")
    })
    const { url } = await startGateway(upstream.origin)
    const call = request(url).end()
    const [answer] = (await once(call, "response")) as [IncomingMessage]
    expect(await text(answer)).toBe("ab")
    expect(answer.headers.trailer).toBe("x-sum")
    expect(answer.trailers).toEqual({ "x-sum": "9", "x-other": "8" })
  })

  it("uses as many kept connections as there were concurrent requests", async () => {
    const upstream = await echo()
    const { url, targets } = await startGateway(upstream.origin)
    for (let i = 0; i < 20; i++) await fetch(`${url}/${i}`).then((answer) => answer.text())
    expect(upstream.connections).toHaveLength(1)
    await Promise.all(Array.from({ length: 10 }, () => fetch(url).then((answer) => answer.text())))
    expect(upstream.connections.length).toBeLessThanOrEqual(10)
    await eventually(() => targets[0]?.pool.idle === upstream.connections.length)
    expect(targets[0]?.active).toBe(0)
  })
})

describe("a request that is not forwarded", () => {
  it("is answered 404 when no route matches", async () => {
    const { url, ended } = await startGateway("http://127.0.0.1:1")
    const answer = await fetch(`${url}/nowhere`)
    expect(answer.status).toBe(404)
    expect(answer.headers.get("content-type")).toBe("application/problem+json")
    expect(await answer.json()).toMatchObject({ status: 404, code: "ROUTE_UNKNOWN" })
    expect(await eventually(() => ended[0])).toMatchObject({
      status: 404,
      route: undefined,
      target: undefined,
    })
  })

  it.each([
    ["two hosts", "GET / HTTP/1.1\r\nhost: a\r\nhost: b\r\n\r\n", 400],
    ["no version", "GET /\r\nhost: a\r\n\r\n", 400],
    ["a version of another protocol", "GET / HTTP/2.0\r\nhost: a\r\n\r\n", 400],
    ["no host", "GET / HTTP/1.1\r\n\r\n", 400],
    ["a host with a path", "GET / HTTP/1.1\r\nhost: a/b\r\n\r\n", 400],
    ["a host with a user", "GET / HTTP/1.1\r\nhost: a@b\r\n\r\n", 400],
    [
      "length and chunks",
      "POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
      400,
    ],
    ["two lengths", "POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab", 400],
    ["a folded header", "GET / HTTP/1.1\r\nhost: a\r\nx: 1\r\n 2\r\n\r\n", 400],
    [
      "another encoding",
      "POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
      501,
    ],
    ["chunks in HTTP/1.0", "POST / HTTP/1.0\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n", 400],
    ["a tunnel", "CONNECT a:80 HTTP/1.1\r\nhost: a:80\r\n\r\n", 405],
    ["no HTTP", "hello\r\n\r\n", 400],
    [
      "a loop",
      `GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\nvia: ${"1.1 sluice, ".repeat(8)}x\r\n\r\n`,
      508,
    ],
  ])("is refused with %s", async (_name, bytes, status) => {
    const upstream = await echo()
    const { port } = await startGateway(upstream.origin)
    // The second request is one that was smuggled, if the first was read in another way.
    const answer = await talk(port, bytes, status === 508 ? "" : lastRequest("GET /smuggled"))
    expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${status} `))
    expect(upstream.requests.map(({ url }) => url)).not.toContain("/")
  })
})

/** Lets everything pass. */
function open(options: Partial<Limiting> = {}): Limiting {
  return {
    trusted: noProxies,
    held: 0,
    readsBody: () => false,
    target: (path) => ({ ok: true, path, query: "" }),
    decide: () => ({
      decision: { allowed: true } as never,
      allowed: true,
      headers: [],
      denied: undefined,
      delayMs: 0,
      delay: () => Promise.resolve(true),
      upgraded: () => undefined,
      mustSettle: false,
      responseReader: () => undefined,
      settle: () => undefined,
    }),
    ...options,
  }
}
