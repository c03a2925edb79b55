import { execFile } from "node:child_process"
import { once } from "node:events"
import { type IncomingMessage, request, type ServerResponse } from "node:http"
import { connect } from "node:net"
import { text } from "node:stream/consumers"
import { promisify } from "node:util"
import { describe, expect, it, onTestFinished, vi } from "vitest"
import { eventually } from "../../../../test/support/eventually.js"
import { toolPath } from "../../../../test/support/tool.js"
import {
  LOOPBACK,
  lastRequest,
  standstill,
  startGateway,
  startRawUpstream,
  startUpstream,
  talk,
} from "./front/gateway.test-support.js"

vi.setConfig({ testTimeout: 60_000 })

/** `SLUICE_BODY_MIB=1024` for bodies of 1 GB. */
const MEGABYTES = Number(process.env.SLUICE_BODY_MIB ?? 128)
const MEGABYTE = Buffer.alloc(1 << 20, "x")
/** Of everything in this process: client, gateway and upstream. A body that were held would show many times over. */
const MAX_GROWTH = 64 << 20

const run = promisify(execFile)

/** Writes so many megabytes, as fast as they are taken. */
async function pour(to: NodeJS.WritableStream, megabytes: number): Promise<void> {
  for (let i = 0; i < megabytes; i++) {
    if (!to.write(MEGABYTE)) await once(to, "drain")
  }
  to.end()
}

async function drain(from: NodeJS.ReadableStream): Promise<number> {
  let bytes = 0
  for await (const chunk of from) bytes += (chunk as Buffer).length
  return bytes
}

/** How much more memory than at the start was in use at most. */
async function growth(work: () => Promise<void>): Promise<number> {
  const start = process.memoryUsage.rss()
  let most = start
  const timer = setInterval(() => {
    most = Math.max(most, process.memoryUsage.rss())
  }, 5)
  try {
    await work()
  } finally {
    clearInterval(timer)
  }
  return most - start
}

describe("a large body", () => {
  it.each(["content-length", "chunks"])("is uploaded with %s in constant memory", async (framing) => {
    const upstream = await startUpstream(async (request, response) => {
      response.end(String(await drain(request)))
    })
    const { url, ended } = await startGateway(upstream.origin)
    const grown = await growth(async () => {
      const headers = framing === "chunks" ? {} : { "content-length": MEGABYTES * 2 ** 20 }
      const call = request(url, { method: "POST", headers })
      const [[answer]] = await Promise.all([
        once(call, "response") as Promise<[IncomingMessage]>,
        pour(call, MEGABYTES),
      ])
      expect(await text(answer)).toBe(String(MEGABYTES * 2 ** 20))
    })
    expect(grown).toBeLessThan(MAX_GROWTH)
    expect(await eventually(() => ended[0])).toMatchObject({ bytesIn: MEGABYTES * 2 ** 20 })
  })

  it.each(["content-length", "chunks"])("is downloaded with %s in constant memory", async (framing) => {
    const upstream = await startUpstream((_request, response) => {
      if (framing === "content-length") response.setHeader("content-length", MEGABYTES * 2 ** 20)
      void pour(response, MEGABYTES)
    })
    const { url, ended } = await startGateway(upstream.origin)
    const grown = await growth(async () => {
      const [answer] = (await once(request(url).end(), "response")) as [IncomingMessage]
      expect(await drain(answer)).toBe(MEGABYTES * 2 ** 20)
    })
    expect(grown).toBeLessThan(MAX_GROWTH)
    expect(await eventually(() => ended[0])).toMatchObject({ bytesOut: MEGABYTES * 2 ** 20 })
  })

  it("leaves a connection that serves the next request as well", async () => {
    const upstream = await startUpstream((_request, response) => {
      for (let i = 0; i < 8; i++) response.write(MEGABYTE.subarray(0, 30_000))
      response.end()
    })
    const { url } = await startGateway(upstream.origin)
    for (let i = 0; i < 20; i++)
      expect(await fetch(url).then((answer) => answer.text())).toHaveLength(240_000)
    expect(upstream.connections).toHaveLength(1)
  })

  it("is read from an upstream no faster than the client reads it", async () => {
    let written = 0
    const upstream = await startUpstream(async (_request, response) => {
      for (let i = 0; i < 256 && !response.destroyed; i++) {
        if (!response.write(MEGABYTE)) await Promise.race([once(response, "drain"), once(response, "close")])
        written++
      }
      response.end()
    })
    const { port } = await startGateway(upstream.origin)
    const client = connect(port, LOOPBACK)
    onTestFinished(() => void client.destroy())
    client.write(lastRequest("GET /"))
    await once(client, "readable")
    // Nobody reads: what the sockets between them hold is all that is written, and then it stands still.
    await standstill(() => written)
    expect(written).toBeLessThan(64)
  })

  it("is read from a client no faster than the upstream reads it", async () => {
    const upstream = await startRawUpstream((socket) => socket.pause())
    const { port } = await startGateway(upstream.origin)
    const client = connect(port, LOOPBACK)
    onTestFinished(() => void client.destroy())
    client.write(lastRequest("POST /", "content-length: 1000000000"))
    let sent = 0
    const send = (): void => {
      while (client.write(MEGABYTE)) sent++
      sent++
    }
    client.on("drain", send)
    send()
    await standstill(() => sent)
    expect(sent).toBeLessThan(64)
  })
})

describe("clients that send slowly", () => {
  it("do not delay others, even a thousand of them", async () => {
    const upstream = await startUpstream(async (request, response) => response.end(await text(request)))
    const { url, port, ended, targets } = await startGateway(upstream.origin)
    const clients = Array.from({ length: 1_000 }, () => {
      const client = connect(port, LOOPBACK)
      onTestFinished(() => void client.destroy())
      client.write(`${lastRequest("POST /", "content-length: 3")}a`)
      return client
    })
    await eventually(() => upstream.requests.length === clients.length, { within: 30_000 })
    expect(await fetch(url, { method: "POST", body: "fast" }).then((answer) => answer.text())).toBe("fast")
    for (const rest of ["b", "c"]) for (const client of clients) client.write(rest)
    const answers = await Promise.all(clients.map((client) => text(client)))
    expect(answers.filter((answer) => answer.endsWith("\r\n\r\nabc"))).toHaveLength(clients.length)
    await eventually(() => ended.length === clients.length + 1)
    expect(targets[0]?.active).toBe(0)
  })
})

describe("a streamed body", () => {
  it("passes piece by piece in both directions at once", async () => {
    const upstream = await startUpstream((request, response) => {
      response.writeHead(200, { "content-type": "text/event-stream" })
      response.flushHeaders()
      request.on("data", (bytes: Buffer) => response.write(`echo ${bytes}`))
      request.on("end", () => response.end("bye"))
    })
    const { url } = await startGateway(upstream.origin)
    const call = request(url, { method: "POST" })
    call.flushHeaders()
    // The head alone, before anything else has come.
    const [answer] = (await once(call, "response")) as [IncomingMessage]
    for (const word of ["one", "two", "three"]) {
      call.write(word)
      const [piece] = (await once(answer, "data")) as [Buffer]
      expect(String(piece)).toBe(`echo ${word}`)
    }
    call.end()
    expect(await text(answer)).toBe("bye")
  })

  it("is closed for the upstream when the client leaves", async () => {
    const upstream = await startUpstream((_request, response) => {
      response.writeHead(200, { "content-type": "text/event-stream" })
      response.write("data: 1\n\n")
    })
    const { url, ended, targets } = await startGateway(upstream.origin)
    const call = request(url).end()
    const [answer] = (await once(call, "response")) as [IncomingMessage]
    await once(answer, "data")
    call.destroy()
    await eventually(() => upstream.connections[0]?.destroyed)
    expect(await eventually(() => ended[0])).toMatchObject({ status: 200, bytesOut: 9 })
    expect(targets[0]).toMatchObject({ active: 0, outcomes: ["answered"] })
  })
})

describe("a client that leaves", () => {
  it("before the answer cancels its request to the upstream", async () => {
    const upstream = await startUpstream(() => undefined)
    const { url, ended, targets } = await startGateway(upstream.origin)
    const call = request(url).end()
    call.on("error", () => undefined)
    await eventually(() => upstream.requests.length === 1)
    call.destroy()
    await eventually(() => upstream.requests[0]?.destroyed)
    expect(await eventually(() => ended[0])).toMatchObject({ status: 499, error: undefined })
    expect(targets[0]).toMatchObject({ active: 0, outcomes: ["answered"] })
    expect(targets[0]?.pool.idle).toBe(0)
  })

  it("in the middle of its body leaves the upstream with a visibly incomplete body", async () => {
    let cut: Promise<string> | undefined
    const upstream = await startUpstream((request) => {
      cut = text(request).catch((error) => error.code)
    })
    const { port } = await startGateway(upstream.origin)
    const client = connect(port, LOOPBACK)
    client.write(`${lastRequest("POST /", "transfer-encoding: chunked")}5\r\nhello\r\n`)
    await eventually(() => cut !== undefined)
    client.destroy()
    expect(await cut).toBe("ECONNRESET")
  })

  it("cancels its request, and its pipelined requests are never forwarded", async () => {
    const upstream = await startUpstream(() => undefined)
    const { port, ended, targets } = await startGateway(upstream.origin)
    const client = connect(port, LOOPBACK)
    client.write("GET /1 HTTP/1.1\r\nhost: a\r\n\r\nGET /2 HTTP/1.1\r\nhost: a\r\n\r\n")
    await eventually(() => upstream.requests.length === 1)
    client.destroy()
    await eventually(() => ended.length === 1)
    expect(targets[0]?.active).toBe(0)
    expect(upstream.requests).toHaveLength(1)
  })
})

describe("interim responses", () => {
  const hints = "HTTP/1.1 103 Early Hints\r\nlink: </style.css>; rel=preload\r\n\r\n"
  const final = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"

  it("reach an HTTP/1.1 client, and no HTTP/1.0 client", async () => {
    const upstream = await startRawUpstream((socket) =>
      socket.write(`HTTP/1.1 100 Continue\r\n\r\n${hints}${final}`),
    )
    const { port } = await startGateway(upstream.origin)
    const answer = await talk(port, lastRequest("GET /"))
    // 100 was not asked for.
    expect(answer).toMatch(
      /^HTTP\/1.1 103 Early Hints\r\nlink: <\/style.css>; rel=preload\r\n\r\nHTTP\/1.1 200 OK\r\n/,
    )
    expect(await talk(port, "GET / HTTP/1.0\r\nhost: a\r\n\r\n")).toMatch(/^HTTP\/1.1 200 OK\r\n/)
  })

  it("let a client send its body when the upstream sends 100 Continue, and not before", async () => {
    let response: ServerResponse | undefined
    const upstream = await startUpstream((request, given) => {
      given.end("no")
      request.resume()
    })
    upstream.server.on("checkContinue", (_request, given) => {
      response = given
    })
    const { port } = await startGateway(upstream.origin)
    const client = connect(port, LOOPBACK)
    onTestFinished(() => void client.destroy())
    let answer = ""
    client.on("data", (bytes) => {
      answer += bytes
    })
    client.write(lastRequest("PUT /", "expect: 100-continue", "content-length: 4"))
    const upstreams = await eventually(() => response)
    expect(answer).toBe("")
    upstreams.writeContinue()
    await eventually(() => answer === "HTTP/1.1 100 Continue\r\n\r\n")
    client.write("body")
    upstreams.end(`got ${await text(upstreams.req)}`)
    await once(client, "close")
    expect(answer).toMatch(/\r\n\r\ngot body$/)
  })

  it("make curl wait for an upload that is then refused", async () => {
    const upstream = await startUpstream(() => undefined)
    upstream.server.on("checkContinue", (_request, response) => {
      response.writeHead(403)
      response.end("no")
    })
    const { url } = await startGateway(upstream.origin)
    const { stdout } = await run(toolPath("curl"), [
      "-s",
      "-w",
      "%{http_code} %{size_upload}",
      "-H",
      "expect: 100-continue",
      "--expect100-timeout",
      "5",
      "-d",
      "x".repeat(100_000),
      url,
    ])
    expect(stdout).toBe("no403 0")
  })
})

describe("an answer before the body was read", () => {
  it("reaches the client, and the rest of the body is not read", async () => {
    const upstream = await startRawUpstream((socket) => {
      socket.write("HTTP/1.1 413 Content Too Large\r\ncontent-length: 5\r\n\r\nlarge")
      socket.pause()
    })
    const { port, targets, ended } = await startGateway(upstream.origin)
    const client = connect(port, LOOPBACK)
    onTestFinished(() => void client.destroy())
    client.on("error", () => undefined)
    let answer = ""
    client.on("data", (bytes) => {
      answer += bytes
    })
    client.write("POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 1000000000\r\n\r\n")
    client.write(MEGABYTE)
    await eventually(() => answer.endsWith("large"))
    for (let i = 0; i < 64; i++) client.write(MEGABYTE)
    await eventually(() => client.destroyed)
    expect(await eventually(() => ended[0])).toMatchObject({ status: 413, bytesOut: 5 })
    expect(ended[0]?.bytesIn).toBeLessThan(16 * 2 ** 20)
    expect(targets[0]?.pool.open).toBe(0)
  })
})
