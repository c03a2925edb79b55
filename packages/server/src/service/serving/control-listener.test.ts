import { EventEmitter, once } from "node:events"
import { Agent, get, type IncomingMessage, type RequestListener, type ServerResponse } from "node:http"
import { connect, type Socket } from "node:net"
import { Readable } from "node:stream"
import { text } from "node:stream/consumers"
import { afterEach, describe, expect, it } from "vitest"
import { eventually } from "../../../../../test/support/eventually.js"
import type { Listener } from "../../listener.js"
import { type HttpListenerOptions, startHttp } from "./control-listener.js"

const hello: RequestListener = (_request, response) => void response.end("hello")
const listeners: Listener[] = []

async function start(app: RequestListener, options: Partial<HttpListenerOptions> = {}) {
  const listener = await startHttp({ host: "127.0.0.1", port: 0, app, ...options })
  listeners.push(listener)
  return {
    listener,
    url: `http://${listener.address}`,
    port: Number(new URL(`http://${listener.address}`).port),
  }
}

async function connectTo(port: number): Promise<Socket> {
  const socket = connect(port, "127.0.0.1")
  await once(socket, "connect")
  return socket
}

async function ask(url: string, agent: Agent): Promise<IncomingMessage> {
  const [response] = (await once(get(url, { agent }), "response")) as [IncomingMessage]
  await text(response)
  return response
}

afterEach(async () => {
  await Promise.all(listeners.splice(0).map((listener) => listener.close()))
})

describe("pipelined requests on one connection", () => {
  it("are limited, and a client that sends more is disconnected", async () => {
    let asked = 0
    const { port, url } = await start((request, response) => {
      asked++
      if (request.url === "/other") response.end("other")
    })
    const socket = (await connectTo(port)).resume()
    socket.on("error", () => {})
    socket.write("GET / HTTP/1.1\r\nhost: a\r\n\r\n".repeat(1_000))
    await once(socket, "close")
    expect(asked).toBeLessThan(10)
    expect(await (await fetch(`${url}/other`)).text()).toBe("other")
  })

  it("are not read after one that is refused", async () => {
    const seen: (string | undefined)[] = []
    const { port } = await start((request, response) => {
      seen.push(request.url)
      response.end()
    })
    const socket = await connectTo(port)
    socket.write("GET / HTTP/1.1\r\nno: host\r\n\r\nGET /behind HTTP/1.1\r\nhost: a\r\n\r\n")
    expect(await text(socket)).toMatch(/^HTTP\/1\.1 400 /)
    expect(seen).toEqual([])
  })
})

describe("a client that", () => {
  /** More than the system takes for a client that does not read. */
  const much = Buffer.alloc(32 * 1_048_576)

  it("never reads its answer is disconnected", async () => {
    const requests: IncomingMessage[] = []
    const { port } = await start(
      (request, response) => {
        requests.push(request)
        response.end(much)
      },
      { answerTimeoutMs: 300 },
    )
    const socket = await connectTo(port)
    socket.pause()
    socket.write("GET / HTTP/1.1\r\nhost: a\r\n\r\n")
    await eventually(() => requests[0]?.socket.destroyed)
    socket.destroy()
  })

  it("reads slowly gets all of a large answer", async () => {
    const pieces = Array.from({ length: 512 }, () => Buffer.alloc(65_536))
    const { port } = await start((_request, response) => void Readable.from(pieces).pipe(response), {
      answerTimeoutMs: 1_000,
    })
    const socket = await connectTo(port)
    socket.write("GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n")
    let bytes = 0
    for await (const piece of socket) {
      bytes += piece.length
      await new Promise((resolve) => setTimeout(resolve, bytes % (1 << 20) < 65_536 ? 60 : 0))
    }
    expect(bytes).toBeGreaterThan(much.length)
  })
})

describe("close", () => {
  it("lets a request in progress finish, and then closes its connection", async () => {
    const requests = new EventEmitter<{ arrived: [ServerResponse] }>()
    const { listener, url } = await start((_request, response) => void requests.emit("arrived", response))
    const arrived = once(requests, "arrived")
    const answer = fetch(url)
    const [response] = await arrived
    const closed = listener.close()
    response.end("done")
    expect((await answer).headers.get("connection")).toBe("close")
    expect(await (await answer).text()).toBe("done")
    await closed
    await expect(fetch(url)).rejects.toThrow()
  })

  it("answers one more request on an idle connection, with Connection: close", async () => {
    const { listener, url } = await start(hello)
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    expect((await ask(url, agent)).headers.connection).toBe("keep-alive")
    const closed = listener.close()
    expect((await ask(url, agent)).headers.connection).toBe("close")
    await closed
    agent.destroy()
  })

  it("does not wait long for connections that stay idle", async () => {
    const { listener, url } = await start(hello)
    const agent = new Agent({ keepAlive: true })
    await ask(url, agent)
    await listener.close(60_000)
    agent.destroy()
  })

  it("does not wait long for connections without any request", async () => {
    const { listener, port } = await start(hello)
    // A browser opens one ahead of need.
    const silent = await connectTo(port)
    const ended = once(silent, "close")
    silent.resume()
    const started = performance.now()
    await listener.close(60_000)
    await ended
    // Node itself would take it for busy until its headers are late, after 10 s.
    expect(performance.now() - started).toBeLessThan(5_000)
  })

  it("closes the connection of a request that takes longer than the deadline", async () => {
    const { listener, url } = await start(() => {})
    const answer = fetch(url)
    answer.catch(() => {})
    await listener.close(20)
    await expect(answer).rejects.toThrow()
  })

  it("may be called twice", async () => {
    const { listener } = await start(hello)
    await Promise.all([listener.close(), listener.close()])
  })
})

it("answers 408 to a client that does not finish its request in time", async () => {
  const { port } = await start(hello, { requestTimeoutMs: 40 })
  const socket = await connectTo(port)
  socket.write("POST / HTTP/1.1\r\nhost: x\r\n")
  expect(await text(socket)).toContain("408 Request Timeout")
})

it("gives uploads a longer deadline, and headers the usual one", async () => {
  const times = { requestTimeoutMs: 40, uploadTimeoutMs: 60_000 }
  const echo: RequestListener = (request, response) =>
    void text(request).then((body) => response.end(`got ${body}`))
  const { port } = await start(echo, times)
  const upload = await connectTo(port)
  upload.write("POST / HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: 2\r\n\r\na")
  const slow = await connectTo(port)
  slow.write("POST / HTTP/1.1\r\nhost: x\r\n")
  expect(await text(slow)).toContain("408 Request Timeout")
  // It came first, and is still there.
  upload.write("b")
  expect(await text(upload)).toContain("got ab")
})

it("answers 431 to headers above the limit", async () => {
  const { port } = await start(hello, { maxHeaderBytes: 4_096 })
  const socket = await connectTo(port)
  socket.write(`GET / HTTP/1.1\r\nhost: x\r\nx: ${"y".repeat(5_000)}\r\n\r\n`)
  expect(await text(socket)).toContain("431 Request Header Fields Too Large")
})

it("accepts at most maxConnections at once", async () => {
  const { port } = await start(hello, { maxConnections: 1 })
  const first = await connectTo(port)
  const second = await connectTo(port)
  expect(await text(second)).toBe("")
  first.end("GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")
  expect(await text(first)).toContain("hello")
})

it("answers bytes that are not HTTP with 400", async () => {
  const { port } = await start(hello)
  const socket = await connectTo(port)
  socket.end("what is this\r\n\r\n")
  expect(await text(socket)).toContain("400 Bad Request")
})
