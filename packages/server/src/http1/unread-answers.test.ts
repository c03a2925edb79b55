import { once } from "node:events"
import type { RequestListener } from "node:http"
import { connect, type Socket } from "node:net"
import { setTimeout as sleep } from "node:timers/promises"
import { afterEach, describe, expect, it } from "vitest"
import { eventually } from "../../../../test/support/eventually.js"
import type { Answer } from "../http/answer.js"
import type { Listener } from "../listener.js"
import { type HttpListenerOptions, startHttp } from "../service/http-listener.js"

const REQUESTS = 1_000
const LARGE = "x".repeat(100_000)
const answer = (body: string | Uint8Array): Answer => ({ status: 200, type: "text/plain", body, headers: [] })

const listeners: Listener[] = []
const sockets: Socket[] = []

async function start(options: Partial<HttpListenerOptions>): Promise<Socket> {
  const app: RequestListener = (_request, response) => void response.end(LARGE)
  const listener = await startHttp({ host: "127.0.0.1", port: 0, app, ...options })
  listeners.push(listener)
  const socket = connect(Number(new URL(`http://${listener.address}`).port), "127.0.0.1")
  socket.on("error", () => {})
  sockets.push(socket)
  await once(socket, "connect")
  return socket
}

afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy()
  await Promise.all(listeners.splice(0).map((listener) => listener.close(0)))
})

const request = "POST /direct HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n"

describe("a client that sends many requests and reads no answer", () => {
  it.each([
    ["promises", () => Promise.resolve(answer(LARGE))],
    ["texts", () => answer(LARGE)],
    ["bytes", () => answer(Buffer.from(LARGE))],
  ])("is answered no further than its connection holds: %s", async (_kind, give) => {
    let asked = 0
    const socket = await start({
      direct: () => {
        asked++
        return give()
      },
    })
    socket.write(request.repeat(REQUESTS))
    // The system takes a few megabytes; then nobody is asked any more.
    await eventually(() => asked > 0)
    for (let before = -1; before !== asked; ) {
      before = asked
      await sleep(200)
    }
    expect(asked).toBeLessThan(REQUESTS / 2)
    // Once it reads, it gets everything.
    let heard = 0
    socket.on("data", (bytes) => {
      heard += bytes.length
    })
    await eventually(() => heard > REQUESTS * LARGE.length)
    expect(asked).toBe(REQUESTS)
  })

  it("has a few promised answers at a time, and others have their turn in between", async () => {
    let asked = 0
    let most = 0
    const socket = await start({
      direct: async () => {
        asked++
        return answer("short")
      },
    })
    let before = 0
    const turn = () => {
      most = Math.max(most, asked - before)
      before = asked
      if (asked < REQUESTS) setImmediate(turn)
    }
    setImmediate(turn)
    socket.write(request.repeat(REQUESTS))
    await eventually(() => before === REQUESTS)
    expect(most).toBeLessThan(40)
  })

  it("gets its last answers too when it has ended its side", async () => {
    const socket = await start({ direct: () => Promise.resolve(answer(LARGE)) })
    socket.end(request.repeat(100))
    let heard = 0
    socket.on("data", (bytes) => {
      heard += bytes.length
    })
    await once(socket, "end")
    expect(heard).toBeGreaterThan(100 * LARGE.length)
  })
})

describe("an answer that nobody reads", () => {
  const large = LARGE.repeat(200)
  it.each<[string, Partial<HttpListenerOptions>]>([
    ["of the fast lane", { direct: () => answer(large) }],
    ["that was promised", { direct: () => Promise.resolve(answer(large)) }],
    ["of node:http", { app: (_request, response) => void response.end(large) }],
    [
      "without an end",
      {
        app(_request, response) {
          const timer = setInterval(() => response.write(LARGE), 1)
          response.on("close", () => clearInterval(timer))
        },
      },
    ],
  ])("%s has a deadline", async (_kind, options) => {
    const socket = await start({ ...options, answerTimeoutMs: 100 })
    socket.write(request)
    await eventually(() => {
      socket.write("x")
      return socket.destroyed
    })
  })
})
