import { once } from "node:events"
import {
  type ClientHttp2Session,
  connect,
  createSecureServer,
  type IncomingHttpHeaders,
  type OutgoingHttpHeaders,
} from "node:http2"
import type { AddressInfo } from "node:net"
import { text } from "node:stream/consumers"
import { beforeAll, describe, expect, it, onTestFinished } from "vitest"
import { makeCertificate, type TestCertificate } from "../../../../test/support/certificate.js"
import { eventually } from "../../../../test/support/eventually.js"
import { Gateway } from "./front/gateway.js"
import {
  LOOPBACK,
  startRawUpstream,
  startUpstream,
  testRoute,
  testTarget,
} from "./front/gateway.test-support.js"
import type { Forwarded } from "./front/request-context.js"
import type { Deadlines } from "./routes/route.js"

let certificate: TestCertificate
beforeAll(() => {
  certificate = makeCertificate()
})

/** A gateway that clients reach over HTTP/2, and a client connected to it. */
async function start(origin: string, deadlines: Partial<Deadlines> = {}) {
  const target = testTarget(origin)
  const route = testRoute([target], { deadlines })
  const ended: Forwarded[] = []
  const gateway = new Gateway({
    routes: { find: () => route },
    watch: { ended: (event) => void ended.push(event) },
  })
  const server = createSecureServer({ cert: certificate.cert, key: certificate.key })
  const handle: Gateway["handleHttp2"] = (request, response) => gateway.handleHttp2(request, response)
  server.on("request", handle).on("checkContinue", handle)
  server.listen(0, LOOPBACK)
  await once(server, "listening")
  const { port } = server.address() as AddressInfo
  const client = connect(`https://localhost:${port}`, { ca: certificate.cert, host: LOOPBACK } as object)
  onTestFinished(async () => {
    client.destroy()
    await new Promise((resolve) => server.close(resolve))
  })
  return { client, target, ended }
}

async function ask(client: ClientHttp2Session, headers: OutgoingHttpHeaders, body?: string) {
  const stream = client.request(headers, { endStream: body === undefined })
  if (body !== undefined) stream.end(body)
  let trailers: IncomingHttpHeaders | undefined
  stream.on("trailers", (given) => {
    trailers = given
  })
  const [answer] = (await once(stream, "response")) as [IncomingHttpHeaders]
  const content = await text(stream)
  return { answer, content, trailers, stream }
}

describe("over HTTP/2", () => {
  it("a request becomes an equivalent HTTP/1.1 request", async () => {
    const upstream = await startUpstream(async (request, response) => {
      const { method, url, headers } = request
      response.writeHead(201, ["Set-Cookie", "a=1", "Set-Cookie", "b=2", "Connection", "x-hop", "X-Hop", "1"])
      response.end(JSON.stringify({ method, url, headers, body: await text(request) }))
    })
    const { client, ended } = await start(upstream.origin)
    const { answer, content } = await ask(
      client,
      {
        ":method": "POST",
        ":path": "/a/./b?q=1",
        ":authority": "shop.example",
        cookie: ["a=1", "b=2"],
        te: "trailers",
      },
      "hello",
    )
    expect(answer).toMatchObject({ ":status": 201, "set-cookie": ["a=1", "b=2"] })
    expect(answer).not.toHaveProperty("x-hop")
    const seen = JSON.parse(content)
    expect(seen).toMatchObject({ method: "POST", url: "/a/b?q=1", body: "hello" })
    expect(seen.headers).toMatchObject({
      host: "shop.example",
      cookie: "a=1; b=2",
      te: "trailers",
      "transfer-encoding": "chunked",
      "x-forwarded-proto": "https",
      "x-forwarded-for": "127.0.0.1",
      via: "2 sluice",
    })
    expect(Object.keys(seen.headers).filter((name) => name.startsWith(":"))).toEqual([])
    expect(await eventually(() => ended[0])).toMatchObject({ httpVersion: "2.0", status: 201, bytesIn: 5 })
  })

  it("a request without a body has none at the upstream either", async () => {
    const upstream = await startRawUpstream((socket) => socket.write("HTTP/1.1 204 No Content\r\n\r\n"))
    const { client } = await start(upstream.origin)
    const { answer } = await ask(client, { ":path": "/" })
    expect(answer[":status"]).toBe(204)
    expect(upstream.received[0]).not.toMatch(/content-length|transfer-encoding/i)
  })

  it("an answer with a repeated header passes", async () => {
    const upstream = await startRawUpstream((socket) =>
      socket.write(
        "HTTP/1.1 200 OK\r\nContent-Type: a/b\r\nContent-Type: a/b\r\nVary: x\r\nVary: y\r\nContent-Length: 0\r\n\r\n",
      ),
    )
    const { client } = await start(upstream.origin)
    const { answer } = await ask(client, { ":path": "/" })
    expect(answer).toMatchObject({ ":status": 200, "content-type": "a/b, a/b", vary: "x, y" })
  })

  it("trailers and interim responses pass", async () => {
    const upstream = await startRawUpstream((socket) =>
      socket.write(
        "HTTP/1.1 103 Early Hints\r\nlink: </a>\r\ncontent-length: 5\r\ntrailer: x\r\n\r\nHTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\ntrailer: grpc-status\r\n\r\n2\r\nok\r\n0\r\ngrpc-status: 0\r\n\r\n",
      ),
    )
    const { client } = await start(upstream.origin)
    const stream = client.request({ ":path": "/" })
    const [hints] = (await once(stream, "headers")) as [IncomingHttpHeaders]
    // A client that is told of a length waits for that many bytes, or ends the stream as malformed.
    expect(Object.keys(hints)).toEqual([":status", "link"])
    expect(hints).toMatchObject({ ":status": 103, link: "</a>" })
    const [trailers] = (await Promise.all([once(stream, "trailers"), text(stream)]))[0] as [
      IncomingHttpHeaders,
    ]
    expect(trailers["grpc-status"]).toBe("0")
  })

  it("a client that resets its stream cancels the request to the upstream, and its other streams go on", async () => {
    const upstream = await startUpstream((request, response) => {
      if (request.url !== "/never") response.end("ok")
    })
    const { client, ended, target } = await start(upstream.origin)
    const stream = client.request({ ":path": "/never" })
    stream.on("error", () => undefined)
    await eventually(() => upstream.requests.length === 1)
    stream.close(8)
    await eventually(() => upstream.requests[0]?.destroyed)
    expect(await eventually(() => ended[0])).toMatchObject({ status: 499 })
    expect((await ask(client, { ":path": "/" })).content).toBe("ok")
    expect(target.active).toBe(0)
  })

  it("an answer that breaks off resets its stream, and a slow upstream causes a 504", async () => {
    const upstream = await startRawUpstream((socket, received) => {
      if (!received.includes("/half")) return
      socket.write("HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf")
      setTimeout(() => socket.destroy(), 20)
    })
    const { client } = await start(upstream.origin, { headers: 400 })
    expect((await ask(client, { ":path": "/slow" })).answer[":status"]).toBe(504)
    const stream = client.request({ ":path": "/half" })
    await once(stream, "response")
    await expect(text(stream)).rejects.toThrow(/NGHTTP2_INTERNAL_ERROR/)
  })

  it("a client that never reads the end of its answer is dropped after a deadline", async () => {
    const upstream = await startUpstream((_request, response) => response.end(Buffer.alloc(100_000)))
    const { client, ended, target } = await start(upstream.origin, { bodyIdle: 400 })
    const stream = client.request({ ":path": "/" })
    stream.on("error", () => undefined)
    await once(stream, "response")
    // 65,535 bytes are all that an HTTP/2 client is sent before it has read any. The upstream has long been done.
    await eventually(() => target.outcomes.length === 1)
    expect(target.outcomes).toEqual(["answered"])
    expect(await eventually(() => ended[0])).toMatchObject({ status: 200, error: "REQUEST_TIMEOUT" })
  })

  it("an answer before the body was read ends the stream", async () => {
    const upstream = await startRawUpstream((socket) => {
      socket.write("HTTP/1.1 413 Content Too Large\r\ncontent-length: 0\r\n\r\n")
    })
    const { client } = await start(upstream.origin)
    const stream = client.request({ ":method": "POST", ":path": "/" })
    stream.on("error", () => undefined)
    stream.write(Buffer.alloc(10_000_000))
    const [answer] = (await once(stream, "response")) as [IncomingHttpHeaders]
    expect(answer[":status"]).toBe(413)
    stream.resume()
    await eventually(() => stream.closed)
  })

  it("a request that could be read as another one in HTTP/1.1 is refused", async () => {
    const upstream = await startUpstream((_request, response) => response.end("ok"))
    const { client } = await start(upstream.origin)
    const status = async (headers: OutgoingHttpHeaders) => {
      const stream = client.request({ ":path": "/", ...headers })
      stream.on("error", () => undefined)
      return Promise.race([
        new Promise((resolve) => stream.on("response", (answer) => resolve(answer[":status"]))),
        new Promise((resolve) => stream.on("close", () => resolve("reset"))),
      ])
    }
    // Some of it by `node:http2` already.
    expect(await status({ ":authority": "a b" })).toBe("reset")
    expect(await status({ ":path": "/a b HTTP/1.1" })).toBe("reset")
    expect(await status({ ":authority": "a", host: "b" })).toBe(400)
    expect(await status({ ":authority": "user@a" })).toBe(400)
    expect(upstream.requests).toHaveLength(0)
  })
})
