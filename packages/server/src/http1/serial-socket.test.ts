import { once } from "node:events"
import { createServer, type RequestListener, type Server } from "node:http"
import { type AddressInfo, connect, type Socket } from "node:net"
import { text } from "node:stream/consumers"
import { describe, expect, it, onTestFinished } from "vitest"
import { eventually } from "../../../../test/support/eventually.js"
import { beginRequest, serveSerially } from "./serial-socket.js"

async function start(app: RequestListener, options: { keepAliveTimeout?: number } = {}): Promise<number> {
  const server: Server = createServer(options)
  serveSerially(server)
  server.on("request", (request, response) => {
    beginRequest(request, response)
    app(request, response)
  })
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  onTestFinished(async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })
  return (server.address() as AddressInfo).port
}

async function connectTo(port: number): Promise<Socket> {
  const socket = connect(port, "127.0.0.1").on("error", () => undefined)
  onTestFinished(() => void socket.destroy())
  await once(socket, "connect")
  return socket.setNoDelay(true)
}

/** The same numbers for the same seed. */
function randomOf(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}

const SEED = Number(process.env.SLUICE_SEED ?? Math.floor(Math.random() * 2 ** 31))

describe("requests sent ahead", () => {
  it(`are read the same however their bytes are cut into packets (SLUICE_SEED=${SEED})`, async () => {
    const random = randomOf(SEED)
    const upTo = (most: number) => Math.floor(random() * most)
    const seen: string[] = []
    const port = await start(async (request, response) => {
      const body = await text(request)
      seen.push(`${request.url} ${body}`)
      response.end("ok")
    })
    for (let round = 0; round < 30; round++) {
      seen.length = 0
      const expected: string[] = []
      let bytes = ""
      for (let i = 0; i < 20; i++) {
        // What looks like the end of a head stands in bodies as well.
        const body = ["", "abc", "\r\n\r\n", "a\r\n\r\nGET / HTTP/1.1\r\n\r\n", "x".repeat(upTo(3_000))][
          upTo(5)
        ] as string
        const blank = ["", "\r\n", "\r\n\r\n"][upTo(3)]
        const head = `${blank}POST /${i} HTTP/1.1\r\nhost: a\r\n`
        expected.push(`/${i} ${body}`)
        if (random() < 0.5) bytes += `${head}content-length: ${body.length}\r\n\r\n${body}`
        else {
          const half = upTo(body.length + 1)
          const chunks = [body.slice(0, half), body.slice(half)].filter((chunk) => chunk !== "")
          const coded = chunks.map((chunk) => `${chunk.length.toString(16)}\r\n${chunk}\r\n`).join("")
          bytes += `${head}transfer-encoding: chunked\r\n\r\n${coded}0\r\n${random() < 0.5 ? "x: y\r\n" : ""}\r\n`
        }
      }
      const socket = (await connectTo(port)).resume()
      for (let at = 0; at < bytes.length; ) {
        const length = 1 + upTo(random() < 0.5 ? 8 : 2_000)
        socket.write(bytes.slice(at, at + length), "latin1")
        at += length
        if (random() < 0.2) await new Promise(setImmediate)
      }
      await eventually(() => seen.length === expected.length)
      expect(seen).toEqual(expected)
      socket.destroy()
    }
  })

  it("wait while the body of the one before them is not read", async () => {
    const urls: (string | undefined)[] = []
    let read: (() => void) | undefined
    const port = await start((request, response) => {
      urls.push(request.url)
      read = () => void request.resume().on("end", () => response.end("ok"))
      if (request.url === "/next") read()
    })
    const socket = await connectTo(port)
    const size = 1_000_000
    socket.write(`POST / HTTP/1.1\r\nhost: a\r\ncontent-length: ${size}\r\n\r\n${"x".repeat(size)}`)
    socket.write("GET /next HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n")
    await eventually(() => urls.length === 1)
    read?.()
    expect((await text(socket)).match(/200 OK/g)).toHaveLength(2)
    expect(urls).toEqual(["/", "/next"])
  })
})

describe("a connection", () => {
  it("ends when its client says nothing for long, whatever line ends it sends", async () => {
    const port = await start((_request, response) => response.end("ok"), { keepAliveTimeout: 100 })
    const socket = (await connectTo(port)).resume()
    socket.write("GET / HTTP/1.1\r\nhost: a\r\n\r\n")
    await once(socket, "data")
    const timer = setInterval(() => socket.write("\r\n"), 20)
    onTestFinished(() => clearInterval(timer))
    await eventually(() => socket.destroyed)
  })

  it("tells a request whose client hangs up that it is gone", async () => {
    let isGone = false
    let isAsked = false
    const port = await start((_request, response) => {
      isAsked = true
      response.on("close", () => {
        isGone = true
      })
    })
    const socket = await connectTo(port)
    socket.write("GET / HTTP/1.1\r\nhost: a\r\n\r\n".repeat(100))
    await eventually(() => isAsked)
    socket.destroy()
    await eventually(() => isGone)
  })

  it("has the address of its client", async () => {
    const port = await start(({ socket }, response) => {
      response.end(JSON.stringify([socket.remoteAddress, socket.remotePort, socket.remoteFamily]))
    })
    const socket = await connectTo(port)
    const { localPort } = socket
    socket.write("GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n")
    expect(await text(socket)).toContain(JSON.stringify(["127.0.0.1", localPort, "IPv4"]))
  })
})
