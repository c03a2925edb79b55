import { EventEmitter, once } from "node:events"
import { Agent, get, type IncomingMessage } from "node:http"
import { connect as connectHttp2, type Http2ServerResponse } from "node:http2"
import { get as getHttps, Agent as HttpsAgent } from "node:https"
import { connect, type Socket } from "node:net"
import { text } from "node:stream/consumers"
import { connect as connectTls } from "node:tls"
import { afterEach, describe, expect, it } from "vitest"
import { makeCertificate } from "../../../../../test/support/certificate.js"
import { eventually } from "../../../../../test/support/eventually.js"
import type { Http1Listener } from "../../http1/listener.js"
import type { BodyStream } from "../../http1/request.js"
import type { Http1Response } from "../../http1/response.js"
import type { Gateway } from "../front/gateway.js"
import { type GatewayListenerOptions, listen } from "./listen.js"

type Handle = Gateway["handle"]

const listeners: Http1Listener[] = []
const certificate = makeCertificate()

afterEach(async () => {
  await Promise.all(listeners.splice(0).map((listener) => listener.close(0)))
})

const hello: Handle = ({ httpVersion }, response) =>
  response.whole(200, `x-http: ${httpVersion}\r\n`, "hello")

const helloHttp2: Gateway["handleHttp2"] = ({ httpVersion }, response) => {
  response.writeHead(200, { "x-http": httpVersion })
  response.end("hello")
}

type TestGateway = GatewayListenerOptions["gateway"]

async function start(handle: Handle, options: Partial<GatewayListenerOptions & TestGateway> = {}) {
  const gateway: TestGateway = {
    handle,
    handleHttp2: helloHttp2,
    upgrade: (_request, socket) => void socket.end("HTTP/1.1 501 Not Implemented\r\n\r\n"),
    endsWithClient: true,
    ...options,
  }
  const listener = await listen({
    host: "127.0.0.1",
    port: 0,
    http2: true,
    headTimeoutMs: 10_000,
    keepAliveMs: 60_000,
    maxHeaderBytes: 16_384,
    maxConnections: 1_000,
    ...options,
    gateway,
  })
  listeners.push(listener)
  const port = Number(listener.address.split(":").at(-1))
  return { listener, port, url: `http://127.0.0.1:${port}`, tlsUrl: `https://localhost:${port}` }
}

async function ask(url: string, agent: Agent): Promise<IncomingMessage> {
  const call = agent instanceof HttpsAgent ? getHttps(url, { agent }) : get(url, { agent })
  const [response] = (await once(call, "response")) as [IncomingMessage]
  await text(response)
  return response
}

async function connectTo(port: number): Promise<Socket> {
  const socket = connect(port, "127.0.0.1")
  await once(socket, "connect")
  return socket
}

/** The certificate that a new connection is shown. */
async function shownCertificate(port: number): Promise<string> {
  const socket = connectTls({ port, host: "127.0.0.1", rejectUnauthorized: false })
  await once(socket, "secureConnect")
  const { fingerprint256 } = socket.getPeerCertificate()
  socket.destroy()
  return fingerprint256
}

describe("without a certificate", () => {
  it("serves HTTP/1.1", async () => {
    const { url } = await start(hello)
    const response = await fetch(url)
    expect([response.headers.get("x-http"), await response.text()]).toEqual(["1.1", "hello"])
  })

  it("sends 100 Continue only when the gateway reads the body", async () => {
    const { port } = await start((_request, response) => response.whole(429, "", ""))
    const socket = await connectTo(port)
    socket.write("POST / HTTP/1.1\r\nhost: a\r\nexpect: 100-continue\r\ncontent-length: 5\r\n\r\n")
    const answer = await text(socket)
    expect(answer).toMatch(/^HTTP\/1\.1 429 /)
    expect(answer).not.toContain("100 Continue")
  })

  it("passes upgrades to the gateway, and refuses bytes that are not HTTP", async () => {
    const { port } = await start(hello)
    const said = async (words: string) => {
      const socket = await connectTo(port)
      socket.write(words)
      return (await text(socket)).slice(9, 12)
    }
    expect(await said("GET / HTTP/1.1\r\nhost: a\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n")).toBe(
      "501",
    )
    expect(await said("what is this\r\n\r\n")).toBe("400")
  })

  it("closes the connection of a client that does not finish its request head", async () => {
    const { port } = await start(hello, { headTimeoutMs: 30 })
    const socket = await connectTo(port)
    socket.write("GET / HTTP/1.1\r\nhost: a\r\n")
    expect(await text(socket)).toMatch(/^HTTP\/1\.1 408 /)
  })

  it("has no deadline for a body", async () => {
    const { port } = await start(
      async ({ bodyStream }, response) => response.whole(200, "", await text(bodyStream as BodyStream)),
      { headTimeoutMs: 30 },
    )
    const socket = await connectTo(port)
    socket.write("POST / HTTP/1.1\r\nhost: a\r\nconnection: close\r\ncontent-length: 2\r\n\r\na")
    // Two clients that are cut for their heads, one after the other, show that the time is over.
    for (let i = 0; i < 2; i++) {
      const slow = await connectTo(port)
      slow.write("GET / HT")
      await once(slow.resume(), "close")
    }
    socket.write("b")
    expect(await text(socket)).toMatch(/ab$/)
  })

  it("accepts at most maxConnections at once", async () => {
    const { port } = await start(hello, { maxConnections: 1 })
    const first = await connectTo(port)
    const second = await connectTo(port)
    expect(await text(second)).toBe("")
    first.destroy()
  })
})

describe("with a certificate", () => {
  it("serves HTTP/2 to clients that speak it", async () => {
    const { tlsUrl } = await start(hello, { certificate })
    const client = connectHttp2(tlsUrl, { ca: certificate.cert })
    const stream = client.request({ ":path": "/" })
    const [headers] = await once(stream, "response")
    expect([headers["x-http"], await text(stream)]).toEqual(["2.0", "hello"])
    client.close()
  })

  it("serves them also without a deadline for request heads", async () => {
    const { tlsUrl } = await start(hello, { certificate, headTimeoutMs: 0 })
    const agent = new HttpsAgent({ ca: certificate.cert })
    expect((await ask(tlsUrl, agent)).statusCode).toBe(200)
  })

  it("serves HTTP/1.1 to other clients", async () => {
    const { tlsUrl } = await start(hello, { certificate })
    const agent = new HttpsAgent({ ca: certificate.cert })
    expect((await ask(tlsUrl, agent)).headers["x-http"]).toBe("1.1")
  })

  it("does not offer HTTP/2 when it is turned off", async () => {
    const { port } = await start(hello, { certificate, http2: false })
    const socket = connectTls({
      port,
      ca: certificate.cert,
      servername: "localhost",
      ALPNProtocols: ["h2", "http/1.1"],
    })
    await once(socket, "secureConnect")
    expect(socket.alpnProtocol).toBe("http/1.1")
    socket.destroy()
  })

  it("uses a renewed certificate for new connections, and keeps the old ones open", async () => {
    const { listener, port, tlsUrl } = await start(hello, { certificate })
    const agent = new HttpsAgent({ ca: certificate.cert, keepAlive: true, maxSockets: 1 })
    await ask(tlsUrl, agent)
    const before = await shownCertificate(port)
    listener.setCertificate(makeCertificate())
    expect(await shownCertificate(port)).not.toBe(before)
    // Only the old connection knows this authority.
    expect((await ask(tlsUrl, agent)).statusCode).toBe(200)
    agent.destroy()
  })

  it("closes an HTTP/2 connection that stays silent", async () => {
    const { port } = await start(hello, { certificate, headTimeoutMs: 30 })
    const socket = connectTls({ port, ca: certificate.cert, servername: "localhost", ALPNProtocols: ["h2"] })
    // On a busy machine the time is over before the handshake is, and the client reports an error first.
    socket.on("error", () => {})
    await new Promise((resolve) => socket.resume().on("close", resolve))
  })

  it("refuses HTTP/2 headers above the limit", async () => {
    const seen: unknown[] = []
    const { tlsUrl } = await start(hello, {
      certificate,
      maxHeaderBytes: 4_096,
      handleHttp2(request, response) {
        seen.push(request.url)
        helloHttp2(request, response)
      },
    })
    const client = connectHttp2(tlsUrl, { ca: certificate.cert })
    const statusOf = async (path: string, size: number) => {
      const [headers] = await once(client.request({ ":path": path, x: "y".repeat(size) }), "response")
      return headers[":status"]
    }
    // The first may have come before the client knew how much is taken; later ones Node refuses for us.
    const first = await statusOf("/first", 5_000).catch((error: Error) => error.message)
    expect([431, "Stream closed with error code NGHTTP2_ENHANCE_YOUR_CALM"]).toContain(first)
    expect(await statusOf("/small", 3_000)).toBe(200)
    await expect(statusOf("/later", 5_000)).rejects.toThrow("NGHTTP2_ENHANCE_YOUR_CALM")
    expect(seen).toEqual(["/small"])
    client.destroy()
  })

  it("refuses CONNECT over HTTP/2", async () => {
    const { tlsUrl } = await start(hello, { certificate })
    const client = connectHttp2(tlsUrl, { ca: certificate.cert })
    const stream = client.request({ ":method": "CONNECT", ":authority": "a:1" })
    const [headers] = await once(stream, "response")
    expect(headers[":status"]).toBe(405)
    client.destroy()
  })
})

describe("close", () => {
  it("lets a request in progress finish, and then closes its connection", async () => {
    const requests = new EventEmitter<{ arrived: [Http1Response] }>()
    const { listener, url } = await start((_request, response) => void requests.emit("arrived", response))
    const arrived = once(requests, "arrived")
    const answer = fetch(url)
    const [response] = await arrived
    const closed = listener.close(60_000)
    response.whole(200, "", "done")
    expect((await answer).headers.get("connection")).toBe("close")
    expect(await (await answer).text()).toBe("done")
    await closed
    await expect(fetch(url)).rejects.toThrow()
  })

  it("answers one more request on an idle connection, with Connection: close", async () => {
    const { listener, url } = await start(hello)
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    expect((await ask(url, agent)).headers.connection).toBe("keep-alive")
    const closed = listener.close(60_000)
    expect((await ask(url, agent)).headers.connection).toBe("close")
    await closed
    agent.destroy()
  })

  it("closes a connection as soon as an answer that had begun is complete", async () => {
    const requests = new EventEmitter<{ arrived: [Http1Response] }>()
    const { listener, port, url } = await start((_request, response) => {
      response.head(200, "HTTP/1.1 200 OK\r\n", "", { hasDate: false, hasLength: false })
      response.write(Buffer.from("a"))
      requests.emit("arrived", response)
    })
    const arrived = once(requests, "arrived")
    const agent = new Agent({ keepAlive: true })
    const answer = ask(url, agent)
    const [response] = await arrived
    const idle = (await connectTo(port)).resume()
    const closed = listener.close(60_000)
    // The last call for idle connections is over.
    await once(idle, "close")
    response.end(Buffer.from("b"))
    await answer
    await closed
    agent.destroy()
  })

  it("lets the streams of an HTTP/2 connection finish, and refuses new ones as safe to retry", async () => {
    const waiting: Http2ServerResponse[] = []
    const { listener, tlsUrl } = await start(hello, {
      certificate,
      handleHttp2: (_request, response) => void waiting.push(response),
    })
    const client = connectHttp2(tlsUrl, { ca: certificate.cert })
    const first = client.request({ ":path": "/" })
    await eventually(() => waiting.length === 1)
    const closed = listener.close(60_000)
    // The client has not heard of it yet.
    const second = client.request({ ":path": "/" })
    await expect(once(second, "response")).rejects.toThrow("NGHTTP2_REFUSED_STREAM")
    for (const response of waiting) response.end("done")
    expect(await text(first)).toBe("done")
    await closed
    expect(waiting).toHaveLength(1)
  })

  it("closes connections that are still open at the deadline, including upgraded ones", async () => {
    const upgraded: unknown[] = []
    const { listener, port, url } = await start(() => {}, {
      upgrade(_request, socket) {
        upgraded.push(socket)
        socket.write("HTTP/1.1 101 Switching Protocols\r\n\r\n")
      },
    })
    const answer = fetch(url)
    answer.catch(() => {})
    const socket = await connectTo(port)
    socket.write("GET / HTTP/1.1\r\nhost: a\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n")
    await eventually(() => upgraded.length === 1)
    const ended = once(socket.resume(), "close")
    await listener.close(20)
    await ended
    await expect(answer).rejects.toThrow()
  })
})
