import { once } from "node:events"
import { type IncomingMessage, request } from "node:http"
import { connect } from "node:net"
import { text } from "node:stream/consumers"
import fc from "fast-check"
import { describe, expect, it, onTestFinished, vi } from "vitest"
import { eventually } from "../../../../test/support/eventually.js"
import { FaultProxy } from "../../../../test/support/fault-proxy.js"
import { reservePort } from "../../../../test/support/ports.js"
import {
  LOOPBACK,
  lastRequest,
  startGateway,
  startRawUpstream,
  startUpstream,
  type TestGatewayOptions,
  talk,
} from "./front/gateway.test-support.js"

vi.setConfig({ testTimeout: 30_000 })

const OK = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"

async function deadOrigin(): Promise<string> {
  const { port, release } = await reservePort()
  onTestFinished(release)
  return `http://${LOOPBACK}:${port}`
}

/** An upstream behind a proxy that fails on purpose, and a gateway in front. */
async function startFaulty(handler: Parameters<typeof startUpstream>[0], options?: TestGatewayOptions) {
  const upstream = await startUpstream(handler)
  const faults = await FaultProxy.start({ host: LOOPBACK, port: upstream.port })
  onTestFinished(() => faults.close())
  return { upstream, faults, ...(await startGateway(`http://${LOOPBACK}:${faults.port}`, options)) }
}

const hello = (_request: unknown, response: { end(text: string): void }) => response.end("hello")

async function problem(answer: Response) {
  expect(answer.headers.get("content-type")).toBe("application/problem+json")
  return (await answer.json()) as { status: number; code: string }
}

describe("an upstream that cannot be reached", () => {
  it("is answered 502", async () => {
    const { url, ended, targets, failures } = await startGateway(await deadOrigin())
    expect(await problem(await fetch(url))).toMatchObject({ status: 502, code: "UPSTREAM_UNREACHABLE" })
    expect(await eventually(() => ended[0])).toMatchObject({ status: 502, error: "UPSTREAM_UNREACHABLE" })
    expect(targets[0]).toMatchObject({ active: 0, outcomes: ["failed"] })
    expect(failures[0]).toMatch(/ECONNREFUSED/)
  })

  it("is replaced by another target for any request, because nothing was sent yet", async () => {
    const upstream = await startUpstream(async (request, response) => response.end(await text(request)))
    const { url, targets } = await startGateway([await deadOrigin(), upstream.origin])
    const answer = await fetch(url, { method: "POST", body: "order" })
    expect(await answer.text()).toBe("order")
    expect(targets.map(({ outcomes }) => outcomes)).toEqual([["failed"], ["answered"]])
  })

  it("is answered 504 when it does not accept the connection in time", async () => {
    // It takes TCP's, but says nothing of TLS.
    const silent = await startRawUpstream(() => undefined)
    const { url } = await startGateway(silent.origin.replace("http", "https"), { deadlines: { connect: 50 } })
    expect(await problem(await fetch(url))).toMatchObject({ status: 504, code: "UPSTREAM_TIMEOUT" })
  })

  it("is answered 503 when no target is healthy", async () => {
    const { url, ended } = await startGateway([])
    expect(await problem(await fetch(url))).toMatchObject({ status: 503, code: "UPSTREAM_UNAVAILABLE" })
    expect(await eventually(() => ended[0])).toMatchObject({ error: "UPSTREAM_UNAVAILABLE" })
  })

  it("is answered 503 when all its connections stay in use for too long, and not when one becomes free", async () => {
    let finish: (() => void) | undefined
    const upstream = await startUpstream((request, response) => {
      if (request.url === "/slow") finish = () => response.end()
      else response.end("next")
    })
    const { url } = await startGateway(upstream.origin, {
      pool: { maxConnections: 1 },
      deadlines: { connect: 400 },
    })
    const slow = fetch(`${url}/slow`)
    await eventually(() => finish)
    expect(await problem(await fetch(url))).toMatchObject({ status: 503, code: "UPSTREAM_BUSY" })
    const next = fetch(url)
    finish?.()
    expect(await (await next).text()).toBe("next")
    await slow
    expect(upstream.connections).toHaveLength(1)
  })
})

describe("an upstream that fails", () => {
  it("before it answers causes a 502, and a POST is not repeated", async () => {
    const upstream = await startRawUpstream((socket, received) => {
      if (received.includes("order")) socket.destroy()
      else socket.write(OK)
    })
    const { url, targets, failures } = await startGateway(upstream.origin)
    expect((await fetch(url)).status).toBe(200)
    // On the connection that was kept: it may have been a race, but nobody knows whether the order was taken.
    const answer = await fetch(url, { method: "POST", body: "order" })
    expect(await problem(answer)).toMatchObject({ status: 502, code: "UPSTREAM_BROKEN" })
    expect(upstream.connections).toHaveLength(1)
    expect(targets[0]?.outcomes).toEqual(["answered", "failed"])
    expect(failures).toHaveLength(1)
  })

  it("on a reused connection gets the request once more on a new one, if the method is idempotent", async () => {
    const upstream = await startRawUpstream((socket, received, connection) => {
      // Every connection serves one request and breaks on the second.
      if (received.split("GET ").length > 2) socket.resetAndDestroy()
      else socket.write(OK.replace("ok", String(connection).padStart(2, "0")))
    })
    const { url, targets } = await startGateway(upstream.origin)
    expect(await fetch(url).then((answer) => answer.text())).toBe("00")
    expect(await fetch(url).then((answer) => answer.text())).toBe("01")
    expect(upstream.connections).toHaveLength(2)
    expect(targets[0]).toMatchObject({ active: 0, outcomes: ["answered", "answered", "answered"] })
  })

  it("gets a request again only once, and not after the first byte of an answer", async () => {
    const upstream = await startRawUpstream((socket, received, connection) => {
      if (connection === 0 && received.split("GET ").length === 2) socket.write(OK)
      else socket.destroy()
    })
    const { url } = await startGateway(upstream.origin)
    expect((await fetch(url)).status).toBe(200)
    expect((await fetch(url)).status).toBe(502)
    expect(upstream.connections).toHaveLength(2)

    const halves = await startRawUpstream((socket, received) => {
      if (received.split("GET ").length === 2) socket.write(OK)
      else socket.end("HTTP/1.1 2")
    })
    const second = await startGateway(halves.origin)
    expect((await fetch(second.url)).status).toBe(200)
    expect((await fetch(second.url)).status).toBe(502)
    expect(halves.connections).toHaveLength(1)
  })

  it.each([
    ["a length", "content-length: 10\r\n\r\nhello"],
    ["chunks", "transfer-encoding: chunked\r\n\r\n5\r\nhello\r\n"],
  ])(
    "in the middle of an answer with %s leaves the client with an answer that is visibly cut",
    async (_name, rest) => {
      const upstream = await startRawUpstream((socket) => {
        socket.write(`HTTP/1.1 200 OK\r\n${rest}`)
        setImmediate(() => socket.end())
      })
      const { url, ended, targets } = await startGateway(upstream.origin)
      const [answer] = (await once(request(url).end(), "response")) as [IncomingMessage]
      await expect(text(answer)).rejects.toMatchObject({ code: "ECONNRESET" })
      expect(await eventually(() => ended[0])).toMatchObject({ status: 200, error: "UPSTREAM_BROKEN" })
      expect(targets[0]?.outcomes).toEqual(["failed"])
    },
  )

  it("in the middle of an answer resets the connection of an HTTP/1.0 client, which cannot notice it otherwise", async () => {
    const upstream = await startRawUpstream((socket) => {
      socket.write("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n")
    })
    const { port } = await startGateway(upstream.origin)
    const client = connect(port, LOOPBACK)
    client.write("GET / HTTP/1.0\r\nhost: a\r\n\r\n")
    await once(client, "data")
    upstream.connections[0]?.destroy()
    const [error] = await once(client, "error")
    expect(error).toMatchObject({ code: "ECONNRESET" })
  })

  it.each([
    ["no HTTP at all", "SSH-2.0-OpenSSH_9.2\r\n\r\n"],
    ["a bare LF that hides a header", "HTTP/1.1 200 OK\r\nx: 1\nset-cookie: stolen=1\r\n\r\n"],
    [
      "length and chunks",
      "HTTP/1.1 200 OK\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
    ],
    ["two lengths", "HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 5\r\n\r\nhello"],
    ["a switch of protocols", "HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\n\r\n"],
    ["an endless head", `HTTP/1.1 200 OK\r\n${"x: 1\r\n".repeat(30_000)}`],
  ])("to speak HTTP causes a 502: %s", async (_name, bytes) => {
    const upstream = await startRawUpstream((socket) => socket.write(bytes))
    const { port, targets } = await startGateway(upstream.origin)
    const answer = await talk(port, lastRequest("GET /"))
    expect(answer).toMatch(/^HTTP\/1.1 502 Bad Gateway\r\n/)
    expect(answer).toContain("UPSTREAM_INVALID")
    expect(answer).not.toContain("stolen")
    await eventually(() => upstream.connections[0]?.destroyed && targets[0]?.pool.open === 0)
  })

  it("to send the length that it announced never answers the next request with the rest", async () => {
    const upstream = await startRawUpstream((socket, received) => {
      if (received.endsWith("\r\n\r\n"))
        socket.write(`${OK}HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\nstolen`)
    })
    const { url } = await startGateway(upstream.origin)
    for (let i = 0; i < 5; i++) expect(await fetch(url).then((answer) => answer.text())).toBe("ok")
    expect(upstream.connections).toHaveLength(5)
  })

  it("to stay silent on an idle connection loses that connection", async () => {
    const upstream = await startRawUpstream((socket, received) => {
      if (received.endsWith("\r\n\r\n")) socket.write(OK)
    })
    const { url, targets } = await startGateway(upstream.origin)
    await fetch(url).then((answer) => answer.text())
    await eventually(() => targets[0]?.pool.idle === 1)
    upstream.connections[0]?.write("HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\nstolen")
    await eventually(() => targets[0]?.pool.idle === 0)
    expect(await fetch(url).then((answer) => answer.text())).toBe("ok")
  })
})

describe("an upstream that lies", () => {
  it("only has its answer refused or cut, whatever it sends", async () => {
    const said = fc.array(
      fc.constantFrom(
        ...[
          "HTTP/1.1 200 OK\r\n",
          "HTTP/1.1 103 Early Hints\r\n\r\n",
          "HTTP/1.0 200 OK\r\n",
          "HTTP/1.1 204 No\r\n",
        ],
        ...[
          "HTTP/1.1 304 Not\r\n",
          "HTTP/1.1 101 Go\r\n",
          "HTTP/1.1 999 ?\r\n",
          "\r\n",
          "\r\n\r\n",
          "\n",
          "\0",
        ],
        ...[
          "Content-Length: 5\r\n",
          "Content-Length: 0\r\n",
          "Transfer-Encoding: chunked\r\n",
          "Trailer: x\r\n",
        ],
        ...["Connection: close\r\n", "Connection: content-length\r\n", "Date: \x80\r\n", "Upgrade: h2c\r\n"],
        ...["5\r\nhello\r\n", "0\r\n\r\n", "0\r\nX: y\r\n\r\n", "hello", "ffffffffffff\r\n"],
      ),
      { maxLength: 9 },
    )
    let lie = ""
    const upstream = await startRawUpstream((socket) => void socket.end(lie, "latin1"))
    const { port, targets, ended } = await startGateway(upstream.origin)
    let asked = 0
    await fc.assert(
      fc.asyncProperty(said, fc.constantFrom("GET", "HEAD", "POST"), async (pieces, method) => {
        lie = pieces.join("")
        const answer = await talk(port, lastRequest(`${method} /`, "content-length: 0"))
        asked++
        expect(answer === "" || /^HTTP\/1\.1 \d{3} /.test(answer)).toBe(true)
        expect(targets[0]?.active).toBe(0)
        await eventually(() => ended.length === asked && targets[0]?.pool.open === 0)
      }),
      { numRuns: 300 },
    )
  })
})

describe("a deadline", () => {
  it("for the head of the answer causes a 504, and the connection is not reused", async () => {
    const { url, faults, ended, targets } = await startFaulty(hello, { deadlines: { headers: 60 } })
    faults.dropReplies()
    expect(await problem(await fetch(url))).toMatchObject({ status: 504, code: "UPSTREAM_TIMEOUT" })
    expect(await eventually(() => ended[0])).toMatchObject({ status: 504, error: "UPSTREAM_TIMEOUT" })
    expect(targets[0]).toMatchObject({ active: 0, outcomes: ["failed"] })
    await eventually(() => targets[0]?.pool.open === 0)
    await faults.pass()
    expect(await fetch(url).then((answer) => answer.text())).toBe("hello")
  })

  it("for the head is not extended by a head that arrives byte by byte", async () => {
    const { url, faults } = await startFaulty(hello, { deadlines: { headers: 150 } })
    faults.throttle(100)
    expect(await problem(await fetch(url))).toMatchObject({ status: 504, code: "UPSTREAM_TIMEOUT" })
  })

  it("for the head starts when the body has been sent", async () => {
    const { url } = await startFaulty(async (request, response) => response.end(await text(request)), {
      deadlines: { headers: 500 },
    })
    const call = request(url, { method: "POST" })
    call.write("slowly")
    const startedAt = performance.now()
    await eventually(() => performance.now() - startedAt > 600)
    call.end(" sent")
    const [answer] = (await once(call, "response")) as [IncomingMessage]
    expect(await text(answer)).toBe("slowly sent")
  })

  it("between two pieces of an answer cuts the answer", async () => {
    const { url, ended } = await startFaulty(
      (_request, response) => {
        response.writeHead(200)
        response.write("half")
      },
      { deadlines: { bodyIdle: 60 } },
    )
    const [answer] = (await once(request(url).end(), "response")) as [IncomingMessage]
    await expect(text(answer)).rejects.toMatchObject({ code: "ECONNRESET" })
    expect(await eventually(() => ended[0])).toMatchObject({ status: 200, error: "UPSTREAM_TIMEOUT" })
  })

  it("between two pieces does not cut an answer that keeps arriving, however long it takes", async () => {
    const { url, faults } = await startFaulty((_request, response) => response.end("x".repeat(30_000)), {
      deadlines: { bodyIdle: 500 },
    })
    faults.throttle(40_000)
    expect((await fetch(url).then((answer) => answer.text())).length).toBe(30_000)
  })

  it("for a body that a client does not send causes a 408, and does not count against the upstream", async () => {
    const { port, upstream, targets } = await startFaulty((request) => void request.resume(), {
      deadlines: { bodyIdle: 60 },
    })
    const answer = await talk(port, lastRequest("POST /", "content-length: 100"), "not all")
    expect(answer).toMatch(/^HTTP\/1.1 408 Request Timeout\r\n/)
    expect(answer).toContain("REQUEST_TIMEOUT")
    expect(targets[0]?.outcomes).toEqual(["answered"])
    await eventually(() => upstream.connections[0]?.destroyed)
  })

  it("for an upstream that stops reading a body causes a 504", async () => {
    const { port, faults, targets } = await startFaulty((request) => void request.resume(), {
      deadlines: { bodyIdle: 500 },
    })
    faults.setFlow({ requests: { kind: "hold" } })
    const client = connect(port, LOOPBACK)
    onTestFinished(() => void client.destroy())
    client.on("error", () => undefined)
    client.write(lastRequest("POST /", "content-length: 1000000000"))
    client.write(Buffer.alloc(32 << 20))
    const [bytes] = (await once(client, "data")) as [Buffer]
    expect(String(bytes)).toMatch(/^HTTP\/1.1 504 /)
    expect(targets[0]?.outcomes).toEqual(["failed"])
  })

  it("for a client that does not read its answer ends both connections", async () => {
    const { port, upstream, ended, targets } = await startFaulty(
      (_request, response) => response.end(Buffer.alloc(64 << 20)),
      { deadlines: { bodyIdle: 500 } },
    )
    const client = connect(port, LOOPBACK)
    onTestFinished(() => void client.destroy())
    client.on("error", () => undefined)
    client.write(lastRequest("GET /"))
    await once(client, "readable")
    expect(await eventually(() => ended[0])).toMatchObject({ status: 200, error: "REQUEST_TIMEOUT" })
    expect(targets[0]?.outcomes).toEqual(["answered"])
    await eventually(() => upstream.connections[0]?.destroyed)
  })

  it("for the whole exchange causes a 504 before the answer, and cuts an answer that has begun", async () => {
    const { url } = await startFaulty(
      (request, response) => {
        if (request.url === "/never") return
        const timer = setInterval(() => response.write("."), 10)
        response.on("close", () => clearInterval(timer))
      },
      { deadlines: { total: 500 } },
    )
    expect(await problem(await fetch(`${url}/never`))).toMatchObject({ code: "UPSTREAM_TIMEOUT" })
    const [answer] = (await once(request(url).end(), "response")) as [IncomingMessage]
    await expect(text(answer)).rejects.toMatchObject({ code: "ECONNRESET" })
  })
})
