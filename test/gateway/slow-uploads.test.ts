// Bodies that clients send as slowly as they can: they are cut off, hold a part of the upstream's connections at most, and none
// before there is something to send.

import { once } from "node:events"
import { request } from "node:http"
import { connect, type Socket } from "node:net"
import { text } from "node:stream/consumers"
import { describe, expect, it } from "vitest"
import { eventually } from "../support/eventually.js"
import { LOOPBACK } from "../support/ports.js"
import { afterThis, openBackend, openGateway } from "./bed.js"

/** Every address of 127.0.0.0/8 is this machine's. */
const ATTACKER = "127.0.0.2"

async function dialFrom(localAddress: string, port: number): Promise<Socket> {
  const socket = connect({ port, host: LOOPBACK, localAddress }).on("error", () => undefined)
  afterThis(() => socket.destroy())
  await once(socket, "connect")
  return socket
}

const readAll = () =>
  openBackend((incoming, response) => {
    incoming.resume().on("end", () => response.end("from the backend"))
  })

/** Sends a byte now and then, and returns the answer. */
function drip(socket: Socket): Promise<string> {
  const timer = setInterval(() => (socket.writable ? socket.write("x") : undefined), 50)
  afterThis(() => clearInterval(timer))
  return text(socket)
}

const HEAD = "POST /slow HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\nx"

describe("a slow upload", () => {
  it.each([
    ["with a length", HEAD],
    ["in chunks", "POST /slow HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nFFFFF\r\nx"],
  ])("is answered 408 below the minimum rate: %s", async (_, head) => {
    const backend = await readAll()
    const settings = { uploads: { rate: 1_000, grace: "200ms" } }
    const gateway = await openGateway({ upstream: backend, settings })
    const socket = await dialFrom(LOOPBACK, gateway.port)
    socket.write(head)
    expect(await drip(socket)).toMatch(/^HTTP\/1\.1 408 /)
    await eventually(
      () => new Promise((resolve) => backend.server.getConnections((_error, count) => resolve(count === 0))),
    )
  })

  it("is not ended at the minimum rate, nor while the upstream is slower than the client", async () => {
    const backend = await openBackend((incoming, response) => {
      // Takes nothing for longer than the grace, then everything.
      setTimeout(() => incoming.resume().on("end", () => response.end("from the backend")), 700)
    })
    const settings = { uploads: { rate: 1_000, grace: "200ms" } }
    const gateway = await openGateway({ upstream: backend, settings })
    const call = request(gateway.url, { method: "POST", headers: { "content-length": 20_000_000 } })
    call.end(Buffer.alloc(20_000_000))
    const [answer] = await once(call, "response")
    expect([answer.statusCode, await text(answer)]).toEqual([200, "from the backend"])
  })

  it("has no time limit without a minimum rate", async () => {
    const backend = await openBackend((incoming, response) => {
      incoming.on("data", () => response.write(".")).on("end", () => response.end("from the backend"))
    })
    const gateway = await openGateway({ upstream: backend, settings: { uploads: { rate: 0, grace: "0s" } } })
    const socket = await dialFrom(LOOPBACK, gateway.port)
    socket.write("POST / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 20\r\n\r\n")
    expect(await Promise.race([drip(socket), text(socket)])).toMatch(
      /^HTTP\/1\.1 200 [\s\S]*from the backend/,
    )
  })

  it("takes no connection to the upstream before there is something to send", async () => {
    const backend = await readAll()
    const gateway = await openGateway({ upstream: backend })
    const socket = await dialFrom(LOOPBACK, gateway.port)
    let connections = 0
    backend.server.on("connection", () => connections++)
    socket.write("POST /first HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\n")
    // A client that came later has been answered.
    expect(await (await fetch(gateway.url)).text()).toBe("from the backend")
    expect([connections, backend.seen]).toEqual([1, ["GET /"]])
    socket.write("abc")
    const [answer] = await once(socket, "data")
    expect(String(answer)).toMatch(/^HTTP\/1\.1 200 /)
  })

  it("in chunks takes at most one of eight connections before there is something to send", async () => {
    const backend = await openBackend((incoming, response) => {
      incoming.on("data", () => response.write(".")).on("end", () => response.end())
      response.flushHeaders()
    })
    const settings = {
      upstream: [],
      upstreams: { only: { targets: [`http://${LOOPBACK}:${backend.port}`], connections: 16 } },
    }
    const gateway = await openGateway({ upstream: backend, settings })
    const open = async () => {
      const socket = await dialFrom(ATTACKER, gateway.port)
      socket.write("POST /silent HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n")
      return socket
    }
    const silent = [await open(), await open(), await open(), await open()] as const
    // Two get an answer of the upstream before they have sent anything. The others are read, and have to wait.
    await Promise.race(silent.map((socket) => once(socket, "data")))
    expect(await (await fetch(gateway.url)).text()).toBe("")
    expect(backend.seen.filter((target) => target === "POST /silent")).toHaveLength(2)
    for (const socket of silent) socket.write("1\r\nx\r\n")
    await eventually(() => backend.seen.length === 5)
    // They are not silent any more, so that others may be. A body without any chunk is not silent either.
    const empty = await open()
    empty.write("0\r\n\r\n")
    await once(empty, "data")
    await open()
    await open()
    await eventually(() => backend.seen.length === 8)
    const last = await open()
    expect(await (await fetch(gateway.url)).text()).toBe("")
    expect(backend.seen).toHaveLength(9)
    last.write("0\r\n\r\n")
    expect(String((await once(last, "data"))[0])).toMatch(/^HTTP\/1\.1 200 /)
  })
})

describe("a client with many slow uploads", () => {
  it("leaves other clients their share of the connections, and of the queue for one", async () => {
    const backend = await openBackend((incoming, response) => {
      if (incoming.url === "/slow") incoming.resume()
      else response.end("from the backend")
    })
    const settings = {
      upstream: [],
      upstreams: { only: { targets: [`http://${LOOPBACK}:${backend.port}`], connections: 8, waiting: 8 } },
      deadlines: { connect: "10s" },
    }
    const gateway = await openGateway({ upstream: backend, settings })
    const answers: Promise<string>[] = []
    for (let i = 0; i < 20; i++) {
      const socket = await dialFrom(ATTACKER, gateway.port)
      socket.write(HEAD)
      answers.push(text(socket))
    }
    await eventually(() => backend.seen.length === 4)
    // Four wait, and the others were refused at once.
    const refused = await Promise.race(answers)
    expect(refused).toMatch(/^HTTP\/1\.1 503 [\s\S]*UPSTREAM_BUSY/)
    const started = performance.now()
    for (let i = 0; i < 10; i++) {
      const response = await fetch(gateway.url)
      expect([response.status, await response.text()]).toEqual([200, "from the backend"])
    }
    expect(performance.now() - started).toBeLessThan(5_000)
    expect(backend.seen.filter((target) => target === "POST /slow")).toHaveLength(4)
  })
})
