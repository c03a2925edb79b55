import { once } from "node:events"
import { connect, type Socket } from "node:net"
import { text } from "node:stream/consumers"
import { noProxies } from "sluice/internal"
import { describe, expect, it, onTestFinished } from "vitest"
import { eventually } from "../../../../test/support/eventually.js"
import type { Gateway } from "./front/gateway.js"
import {
  LOOPBACK,
  standstill,
  startGateway,
  startRawUpstream,
  startUpstream,
  type TestGatewayOptions,
} from "./front/gateway.test-support.js"
import type { Admission, Limiting } from "./front/limiting.js"
import { type GatewayListenerOptions, listen } from "./listen/listen.js"

async function open(port: number) {
  const socket = connect(port, LOOPBACK).setNoDelay(true)
  onTestFinished(() => void socket.destroy())
  socket.on("error", () => undefined)
  await once(socket, "connect")
  let heard = ""
  socket.on("data", (bytes) => {
    heard += bytes.toString("latin1")
  })
  return { socket, heard: () => heard, send: (bytes: string) => void socket.write(bytes, "latin1") }
}

/** All that the gateway says to these bytes, until it has said nothing for a while or hung up. */
async function said(port: number, bytes: string): Promise<string> {
  const client = await open(port)
  client.send(bytes)
  let before = ""
  await eventually(
    () => {
      const isStill = client.heard() !== "" && client.heard() === before
      before = client.heard()
      return isStill || client.socket.destroyed
    },
    { every: 60, what: "an answer" },
  )
  return `${client.heard()}${client.socket.destroyed || client.socket.readableEnded ? "[closed]" : ""}`
}

/** What every upstream here is asked for decides what it answers. */
const answers: Readonly<Record<string, string>> = {
  "/length": "HTTP/1.1 200 OK\r\ncontent-length: 5\r\nx-a: 1\r\nx-a: 2\r\n\r\nhello",
  "/dated": "HTTP/1.1 200 Fine\r\nDate: Thu, 01 Jan 1970 00:00:00 GMT\r\ncontent-length: 2\r\n\r\nok",
  "/empty": "HTTP/1.1 201 Created\r\ncontent-length: 0\r\nlocation: /x\r\n\r\n",
  "/chunks": "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n4;x=y\r\ndefg\r\n0\r\n\r\n",
  "/trailers":
    "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\ntrailer: x-sum\r\n\r\n3\r\nabc\r\n0\r\nx-sum: 7\r\n\r\n",
  "/until-close": "HTTP/1.1 200 OK\r\nconnection: close\r\n\r\nto the end",
  "/nothing": "HTTP/1.1 204 No Content\r\nx-a: 1\r\n\r\n",
  "/unchanged": 'HTTP/1.1 304 Not Modified\r\netag: "1"\r\ncontent-length: 5\r\n\r\n',
  "/head": "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n",
  "/hints": "HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok",
  "/hops":
    "HTTP/1.1 200 OK\r\nconnection: x-hop\r\nx-hop: 1\r\nproxy-authenticate: Basic\r\ncontent-length: 2\r\n\r\nok",
  "/blanks":
    "HTTP/1.1 200 OK\r\nx-a:1\r\nx-b:  2 \t\r\nx-empty:\r\nconnection: x-c\r\nx-c: 3\r\ncontent-length: 2\r\n\r\nok",
  "/runs":
    "HTTP/1.1 200 OK\r\nkeep-alive: timeout=9\r\nx-a: 1\r\nx-b: 2\r\nconnection: keep-alive\r\nx-c: 3\r\ncontent-length: 2\r\nupgrade: h2c\r\n\r\nok",
  "/old": "HTTP/1.0 200 OK\r\ncontent-length: 2\r\n\r\nok",
  "/no-reason": "HTTP/1.1 200\r\ncontent-length: 2\r\n\r\nok",
  "/hop-date": "HTTP/1.1 200 OK\r\nDate: then\r\nconnection: date\r\ncontent-length: 2\r\n\r\nok",
  "/limited":
    "HTTP/1.1 200 OK\r\nx-a: 1\r\nX-RateLimit-Limit: 9\r\nx-b: 2\r\nratelimit: 9\r\ncontent-length: 2\r\n\r\nok",
  "/latin": "HTTP/1.1 200 OK\r\nx-name: gr\xfc\xdf\r\ncontent-length: 2\r\n\r\n\xfc\xdf",
  "/error": "HTTP/1.1 500 Oops\r\ncontent-length: 0\r\n\r\n",
  "/invalid": "HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nx",
}

async function startAnswering() {
  return await startRawUpstream((socket, received) => {
    const heads = received.split("\r\n\r\n")
    const [, path = ""] = /^\S+ ([^ ?]+)/.exec(heads.at(-2) ?? "") ?? []
    const answer = answers[path] ?? `HTTP/1.1 200 OK\r\ncontent-length: ${path.length}\r\n\r\n${path}`
    socket.write(answer, "latin1")
    if (path === "/until-close") socket.end()
  })
}

/** All that a client, an upstream and the access log see of these bytes, but for the time and ports. */
async function seenOf(bytes: string, options: TestGatewayOptions = {}) {
  const upstream = await startAnswering()
  const { port, ended } = await startGateway(upstream.origin, options)
  const answer = await said(port, bytes)
  return {
    answer: answer.replace(/Date: .*? GMT/g, "Date: now"),
    forwarded: upstream.received.flatMap((all) => all.split(/(?=(?:GET|POST|PUT|HEAD) \/)/)).sort(),
    events: ended.map(({ status, bytesIn, bytesOut, path, error }) => ({
      status,
      bytesIn,
      bytesOut,
      path,
      error,
    })),
  }
}

const requests: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    Object.keys(answers).map((path) => [`for ${path}`, `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`]),
  ),
  "HEAD with a length": "HEAD /head HTTP/1.1\r\nHost: a\r\n\r\n",
  "HEAD of what cannot be read": "HEAD /a%00 HTTP/1.1\r\nHost: a\r\n\r\n",
  "a query": "GET /x?a=b%20c&d=/../ HTTP/1.1\r\nHost: a:80\r\n\r\n",
  "a path that is not canonical": "GET /a/./b/../%41 HTTP/1.1\r\nHost: a\r\n\r\n",
  "a path with an encoded slash": "GET /a%2fb HTTP/1.1\r\nHost: a\r\n\r\n",
  "no route": "GET /nowhere HTTP/1.1\r\nHost: a\r\n\r\n",
  "a host that is none": "GET /x HTTP/1.1\r\nHost: a/b\r\n\r\n",
  "a body": "POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello",
  "an empty body": "PUT /x HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n",
  "a body of GET": "GET /x HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc",
  "blanks around values": "GET /x HTTP/1.1\r\nHOST:a\r\nX-A: \t b c \t\r\nX-Empty:\r\n\r\n",
  "headers of other hops":
    "GET /x HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 1.2.3.4\r\nForwarded: for=1.2.3.4\r\nX-Original-URL: /y\r\nX_Real_IP: 1.2.3.4\r\nVia: 1.1 front\r\nProxy-Authorization: x\r\n\r\n",
  "a loop": `GET /x HTTP/1.1\r\nHost: a\r\nVia: ${"1.1 sluice, ".repeat(9)}1.1 x\r\n\r\n`,
  "a kept connection": "GET /x HTTP/1.1\r\nHost: a\r\nConnection: Keep-Alive\r\n\r\n",
  "names like those of objects":
    "GET /x HTTP/1.1\r\nHost: a\r\n__proto__: 1\r\nconstructor: 2\r\ntoString: 3\r\n\r\n",
  "the same headers for other paths, and then others":
    "GET /1 HTTP/1.1\r\nHost: a\r\nX-A: 1\r\n\r\nHEAD /head HTTP/1.1\r\nHost: a\r\nX-A: 1\r\n\r\nGET /3 HTTP/1.1\r\nHost: a\r\nX-A: 2\r\n\r\nGET /4 HTTP/1.1\r\nHost: b\r\nX-A: 2\r\n\r\n",
  "the same headers for other bodies":
    "POST /1 HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\noneGET /2 HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\ntwoPOST /3 HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nyou",
  "headers too long to be kept, twice":
    `GET /1 HTTP/1.1\r\nHost: a\r\nX-A: ${"x".repeat(3_000)}\r\n\r\n`.repeat(2),
  "several, one after the other":
    "GET /1 HTTP/1.1\r\nHost: a\r\n\r\nPOST /2 HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nhiGET /chunks HTTP/1.1\r\nHost: a\r\n\r\nGET /4 HTTP/1.1\r\nHost: a\r\n\r\n",
  "a method that is seldom": "TRACE /x HTTP/1.1\r\nHost: a\r\n\r\n",
  "a method in lower case": "get /x HTTP/1.1\r\nHost: a\r\n\r\n",
  "HTTP/1.0": "GET /x HTTP/1.0\r\nHost: a\r\n\r\n",
  "HTTP/2.0": "GET /x HTTP/2.0\r\nHost: a\r\n\r\n",
  "no host": "GET /x HTTP/1.1\r\n\r\n",
  "two hosts": "GET /x HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
  "a header twice": "GET /x HTTP/1.1\r\nHost: a\r\nX-A: 1\r\nx-a: 2\r\n\r\n",
  "two cookies": "GET /x HTTP/1.1\r\nHost: a\r\nCookie: a=1\r\nCookie: b=2\r\n\r\n",
  chunks: "POST /x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n",
  "an expectation": "POST /x HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\nhi",
  "the wish to close": "GET /x HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
  "a header named in Connection": "GET /x HTTP/1.1\r\nHost: a\r\nConnection: x-a\r\nX-A: 1\r\n\r\n",
  "what it takes of encodings": "GET /x HTTP/1.1\r\nHost: a\r\nTE: trailers\r\n\r\n",
  "HTTP/2 in clear": "GET /x HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: h2c\r\n\r\n",
  "an empty line before it": "\r\nGET /x HTTP/1.1\r\nHost: a\r\n\r\n",
  "bytes beyond ASCII in a value": "GET /x HTTP/1.1\r\nHost: a\r\nX-A: gr\xfc\xdf\r\n\r\n",
  "bytes beyond ASCII in the path": "GET /gr\xfc\xdf HTTP/1.1\r\nHost: a\r\n\r\n",
  "lines that end with LF": "GET /x HTTP/1.1\nHost: a\n\n",
  "a bare CR in a value": "GET /x HTTP/1.1\r\nHost: a\r\nX-A: b\rc\r\n\r\n",
  "a folded header": "GET /x HTTP/1.1\r\nHost: a\r\nX-A: b\r\n c\r\n\r\n",
  "a head that is too large": `GET /x HTTP/1.1\r\nHost: a\r\nX-A: ${"b".repeat(20_000)}\r\n\r\n`,
  "a target with its host": "GET http://a/x HTTP/1.1\r\nHost: a\r\n\r\n",
  "no target but a star": "OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n",
  CONNECT: "CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\n\r\n",
  "no HTTP at all": "\x16\x03\x01\x02\0\x01\0\x01\xfc\x03\x03",
  "the first plain, the second not":
    "GET /1 HTTP/1.1\r\nHost: a\r\n\r\nPOST /2 HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\nGET /3 HTTP/1.1\r\nHost: a\r\n\r\n",
}

describe("a request is forwarded, answered and logged as it was recorded", () => {
  it.each(Object.entries(requests))("%s", async (_name, bytes) => {
    expect(await seenOf(bytes)).toMatchSnapshot()
  })
})

it("answers the requests before a malformed one, refuses that, and reads nothing after it", async () => {
  const upstream = await startAnswering()
  const { port } = await startGateway(upstream.origin)
  const answer = await said(
    port,
    "GET /1 HTTP/1.1\r\nHost: a\r\n\r\nGET /2 HTTP/1.1\r\nHost: a/b\r\n\r\nGET /3 HTTP/1.1\r\nHost: a\r\n\r\n",
  )
  expect(answer.match(/HTTP\/1\.1 \d+/g)).toEqual(["HTTP/1.1 200", "HTTP/1.1 400"])
  expect(answer).toMatch(/\[closed\]$/)
  expect(upstream.received.join("")).not.toContain("/3")
})

it("answers a request the same wherever it is split into two packets", async () => {
  const upstream = await startAnswering()
  const { port } = await startGateway(upstream.origin)
  const whole = "POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello"
  for (let cut = 1; cut < whole.length; cut++) {
    const client = await open(port)
    client.send(whole.slice(0, cut))
    await new Promise(setImmediate)
    client.send(whole.slice(cut))
    await eventually(() => client.heard().endsWith("/x"))
    expect(client.heard()).toMatch(/^HTTP\/1\.1 200 OK\r\n/)
    client.socket.destroy()
  }
  expect(upstream.received.join("").split("hello")).toHaveLength(whole.length)
})

it("does not mix up the pipelined requests of several clients, nor a body that waits for its upstream", async () => {
  const upstream = await startUpstream(async (request, response) => {
    response.end(`${request.url} ${await text(request)};`)
  })
  const { port } = await startGateway(upstream.origin, { pool: { maxConnections: 1 } })
  const names = ["a", "bb", "ccc"]
  const clients = await Promise.all(names.map(() => open(port)))
  for (const [i, name] of names.entries()) {
    const request = (n: number) =>
      `POST /${name}${n} HTTP/1.1\r\nhost: a\r\ncontent-length: ${name.length}\r\n\r\n${name}`
    clients[i]?.send(request(1) + request(2) + request(3))
  }
  await eventually(() => clients.every(({ heard }) => heard().split(";").length === 4))
  for (const [i, name] of names.entries()) {
    const bodies = clients[i]?.heard().match(/\/.*;/g)
    expect(bodies).toEqual([1, 2, 3].map((n) => `/${name}${n} ${name};`))
  }
})

it("forwards a pipelined request only after the ones before it are answered", async () => {
  const upstream = await startUpstream((request, response) => {
    if (request.url !== "/1") response.end(request.url)
  })
  const { port } = await startGateway(upstream.origin)
  const client = await open(port)
  client.send("GET /1 HTTP/1.1\r\nhost: a\r\n\r\nGET /2 HTTP/1.1\r\nhost: a\r\n\r\n")
  await eventually(() => upstream.requests.length === 1)
  client.send("GET /3 HTTP/1.1\r\nhost: a\r\n\r\n")
  await fetch(`http://${LOOPBACK}:${port}/other`)
  expect(upstream.requests.map(({ url }) => url)).toEqual(["/1", "/other"])
  client.socket.destroy()
})

it("stops reading from a client that pipelines without end", async () => {
  const upstream = await startUpstream(() => undefined)
  const { port } = await startGateway(upstream.origin)
  const { socket } = await open(port)
  const request = `GET / HTTP/1.1\r\nhost: a\r\nx: ${"y".repeat(1_000)}\r\n\r\n`
  await eventually(() => {
    while (socket.writableLength < 4_000_000) socket.write(request)
    return socket.bytesWritten - socket.writableLength > 0 && upstream.requests.length === 1
  })
  const before = socket.writableLength
  await fetch(`http://${LOOPBACK}:${port}/nowhere`)
  expect(socket.writableLength).toBe(before)
})

it("cancels the request to the upstream when the client disconnects", async () => {
  const upstream = await startUpstream(() => undefined)
  const { port, ended, targets } = await startGateway(upstream.origin)
  const client = await open(port)
  client.send("GET /1 HTTP/1.1\r\nhost: a\r\n\r\nGET /2 HTTP/1.1\r\nhost: a\r\n\r\n")
  await eventually(() => upstream.requests.length === 1)
  client.socket.destroy()
  await eventually(() => ended.length === 1)
  expect(ended[0]).toMatchObject({ status: 499, path: "/1" })
  expect(targets[0]?.active).toBe(0)
  await eventually(() => upstream.connections[0]?.destroyed)
})

it("treats a half-closed client as disconnected", async () => {
  const upstream = await startUpstream(() => undefined)
  const { port, ended } = await startGateway(upstream.origin)
  const client = await open(port)
  client.send("GET /x HTTP/1.1\r\nhost: a\r\n\r\n")
  await eventually(() => upstream.requests.length === 1)
  client.socket.end()
  await eventually(() => ended.length === 1)
  expect(ended[0]).toMatchObject({ status: 499 })
  expect(client.heard()).toBe("")
})

it("reads an answer from the upstream no faster than the client reads it", async () => {
  const body = Buffer.alloc(32 * 1_048_576, "x")
  const upstream = await startUpstream((_request, response) => void response.end(body))
  const { port } = await startGateway(upstream.origin)
  const client = connect(port, LOOPBACK)
  onTestFinished(() => void client.destroy())
  client.write("GET / HTTP/1.1\r\nhost: a\r\n\r\n")
  await eventually(() => upstream.connections.length === 1)
  const [connection] = upstream.connections
  await standstill(() => connection?.bytesWritten ?? 0)
  expect(connection?.writableLength).toBeGreaterThan(body.length / 4)
  let received = 0
  client.on("data", (bytes) => {
    received += bytes.length
  })
  await eventually(() => received > body.length, { within: 10_000 })
})

function deciding(admission: Partial<Admission>): Limiting {
  return {
    trusted: noProxies,
    target: (url: string) => ({ ok: true, path: url, query: "" }),
    decide: () => admission,
    readsBody: () => false,
  } as unknown as Limiting
}

it("writes a denial in one piece with the body of its rule, in any characters", async () => {
  const denied = { status: 429, contentType: "text/plain; charset=utf-8", body: "zu viele, grüß dich" }
  const admission = {
    allowed: false,
    denied,
    delayMs: 0,
    headers: ["retry-after", "7"],
  } as Partial<Admission>
  const limiting = deciding(admission)
  const { answer, forwarded } = await seenOf("GET /x HTTP/1.1\r\nHost: a\r\n\r\n", { limiting })
  expect(Buffer.from(answer, "latin1").toString()).toMatch(/retry-after: 7\r\n[\s\S]*grüß dich$/)
  expect(forwarded).toEqual([])
})

it("replaces headers of the upstream that have the same name as its own", async () => {
  const admission = {
    allowed: true,
    delayMs: 0,
    headers: ["x-ratelimit-limit", "5", "ratelimit", "5"],
  } as Partial<Admission>
  const limiting = deciding(admission)
  const { answer } = await seenOf("GET /limited HTTP/1.1\r\nHost: a\r\n\r\n", { limiting })
  expect(answer).toMatch(
    /^HTTP\/1\.1 200 OK\r\nx-ratelimit-limit: 5\r\nratelimit: 5\r\nx-a: 1\r\nx-b: 2\r\ncontent/,
  )
})

describe("the port", () => {
  async function startPort(gateway: Gateway, options: Partial<GatewayListenerOptions> = {}) {
    const listener = await listen({
      host: LOOPBACK,
      port: 0,
      gateway,
      http2: true,
      headTimeoutMs: 300,
      keepAliveMs: 60_000,
      maxHeaderBytes: 16_384,
      maxConnections: 1_000,
      ...options,
    })
    onTestFinished(() => listener.close(0))
    return { listener, port: Number(listener.address.split(":").at(-1)) }
  }
  const get = "GET /x HTTP/1.1\r\nHost: a\r\n\r\n"

  it("closes a silent connection, and one that is idle for too long", async () => {
    const { gateway } = await startGateway((await startAnswering()).origin)
    const { port } = await startPort(gateway, { keepAliveMs: 50 })
    const silent = connect(port, LOOPBACK)
    const used = await open(port)
    used.send(get)
    await once(used.socket, "close")
    expect(used.heard()).toMatch(/\/x$/)
    expect(await text(silent)).toMatch(/^HTTP\/1\.1 408 /)
  })

  it("announces with the next answer on each connection that it closes, and drops no request", async () => {
    const held: (() => void)[] = []
    const upstream = await startUpstream((request, response) => {
      if (request.url === "/held") held.push(() => response.end("held"))
      else response.end("now")
    })
    const { gateway } = await startGateway(upstream.origin)
    const { listener, port } = await startPort(gateway)
    const [idle, busy, unused] = await Promise.all([open(port), open(port), open(port)])
    idle.send(get)
    busy.send("GET /held HTTP/1.1\r\nHost: a\r\n\r\n")
    await eventually(() => idle.heard().endsWith("now") && held.length === 1)
    const closed = listener.close(10_000)
    idle.send(get)
    await closedByServer(idle.socket)
    expect(idle.heard().match(/Connection: [a-z-]+/g)).toEqual([
      "Connection: keep-alive",
      "Connection: close",
    ])
    held[0]?.()
    await closedByServer(busy.socket)
    expect(busy.heard()).toMatch(/Connection: close\r\n[\s\S]*held/)
    await closedByServer(unused.socket)
    await closed
  })
})

async function closedByServer(socket: Socket): Promise<void> {
  if (!socket.destroyed) await once(socket, "close")
}
