import { connect, type Socket } from "node:net"
import { afterEach, expect, it } from "vitest"
import { WebSocket, WebSocketServer } from "ws"
import { eventually } from "../../../../../test/support/eventually.js"
import { createLimiter } from "../../limiter/limiter.js"
import { listenOnLoopback } from "../../outgoing/loopback.test-support.js"
import { memoryStore } from "../../stores/memory/memory-store.js"
import { ManualClock } from "../../testing/manual-clock.js"
import type { RunningApp } from "../suite/adapter-suite.test-support.js"
import { rateLimit, type UpgradeOptions, withUpgradeLimit } from "./node.js"

const once = { limit: 1, window: "1h", algorithm: "sliding-window-log", name: "hourly" } as const
const closing: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

/** A WebSocket server that says hello, behind a limit; requests that are no upgrade meet another one. */
async function serve(options: UpgradeOptions, plain?: Parameters<typeof rateLimit>[0]): Promise<RunningApp> {
  const limit = plain === undefined ? undefined : rateLimit(plain)
  const app = await listenOnLoopback((request, response) => {
    if (limit === undefined) response.end()
    else limit(request, response, () => response.end())
  })
  const sockets = new WebSocketServer({ noServer: true })
  app.server.on(
    "upgrade",
    withUpgradeLimit((request, socket, head) => {
      sockets.handleUpgrade(request, socket, head, (opened) =>
        opened.send(`hello, ${request.rateLimit?.remaining} left`),
      )
    }, options),
  )
  closing.push(() => {
    for (const client of sockets.clients) client.terminate()
    return app.close()
  })
  return app
}

/** Returns the first message of a WebSocket, or the status of its refusal. */
function open({ url }: RunningApp): Promise<string | number> {
  const socket = new WebSocket(url.replace("http", "ws"))
  closing.push(() => socket.terminate())
  return new Promise((resolve) => {
    socket.on("message", (message) => resolve(String(message)))
    socket.on("unexpected-response", (_request, response) => resolve(response.statusCode ?? 0))
    socket.on("error", () => undefined)
  })
}

/** Sends a handshake by hand, to see the bytes of the response. */
async function knock({ url }: RunningApp): Promise<{ socket: Socket; said: () => string }> {
  const { port } = new URL(url)
  const socket = connect(Number(port), "127.0.0.1")
  closing.push(() => socket.destroy())
  let said = ""
  socket.setEncoding("latin1").on("data", (text) => {
    said += text
  })
  socket.write(
    "GET /chat HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n" +
      "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n",
  )
  return { socket, said: () => said }
}

it("opens a WebSocket within the limit and refuses the next with 429", async () => {
  const app = await serve(once)
  expect(await open(app)).toBe("hello, 0 left")
  expect(await open(app)).toBe(429)
})

it("responds to a denied upgrade with headers and a problem, and closes the connection", async () => {
  const app = await serve(once)
  await open(app)
  const { socket, said } = await knock(app)
  await new Promise((resolve) => socket.once("close", resolve))
  expect(said()).toMatch(/^HTTP\/1\.1 429 Too Many Requests\r\n/)
  const [head = "", body = ""] = said().split("\r\n\r\n")
  expect(head).toMatch(/\r\nretry-after: \d+\r\n/)
  expect(head).toMatch(/\r\nratelimit: "hourly";r=0;t=\d+\r\n/)
  expect(head).toMatch(/\r\nconnection: close$/)
  expect(JSON.parse(body)).toMatchObject({ status: 429, "violated-policies": ["hourly"] })
})

it("counts upgrades and requests together when both have the same limiter", async () => {
  const limiter = createLimiter({ ...once, limit: 2 })
  const app = await serve({ limiter }, { limiter })
  expect((await fetch(app.url)).status).toBe(200)
  expect(await open(app)).toBe("hello, 0 left")
  expect((await fetch(app.url)).status).toBe(429)
})

it("counts an upgrade that reached the handler as a success, whatever happens on the connection", async () => {
  const kept = await serve({ ...once, skipFailedRequests: true })
  expect(await open(kept)).toBe("hello, 0 left")
  expect(await open(kept)).toBe(429)
  const forgiven = await serve({ ...once, skipSuccessfulRequests: true })
  expect(await open(forgiven)).toBe("hello, 0 left")
  expect(await open(forgiven)).toBe("hello, 0 left")
})

it("responds 500 and calls onError when a key function fails", async () => {
  const errors: unknown[] = []
  const app = await serve({
    ...once,
    key() {
      throw new Error("no key")
    },
    onError: (error) => errors.push(error),
  })
  expect(await open(app)).toBe(500)
  expect(errors).toEqual([new Error("no key")])
})

it("delays an upgrade until its turn, and frees the place of a client that disconnects", async () => {
  const clock = new ManualClock()
  const store = memoryStore({ clock })
  const queue = { algorithm: "leaky-bucket", overflow: "queue", limit: 10, window: "1s" } as const
  const app = await serve({ ...queue, clock, store })
  expect(await open(app)).toBe("hello, 9 left")
  const { socket } = await knock(app)
  await eventually(() => clock.pending === 1)
  socket.end()
  await eventually(() => clock.pending === 0)
  const next = open(app)
  await eventually(() => clock.pending === 1)
  clock.advance(100)
  expect(await next).toBe("hello, 8 left")
})

it("survives a client that resets the connection while it is delayed", async () => {
  const clock = new ManualClock()
  const queue = { algorithm: "leaky-bucket", overflow: "queue", limit: 10, window: "1s" } as const
  const app = await serve({ ...queue, clock, store: memoryStore({ clock }) })
  await open(app)
  const { socket } = await knock(app)
  await eventually(() => clock.pending === 1)
  socket.resetAndDestroy()
  await eventually(() => clock.pending === 0)
})

it("holds the place of a concurrency limit until the connection closes, however short its hold is", async () => {
  const clock = new ManualClock()
  const store = memoryStore({ clock })
  const app = await serve({ algorithm: "concurrency", limit: 1, hold: "30s", clock, store })
  const { socket, said } = await knock(app)
  await eventually(() => said().includes("101"))
  for (let seconds = 0; seconds < 60; seconds += 10) {
    expect(await open(app)).toBe(429)
    clock.advance(10_000)
    // The extension is asked for in the same turn, and made before the next upgrade arrives.
    await eventually(() => clock.pending === 1)
  }
  socket.destroy()
  await eventually(() => clock.pending === 0)
  expect(await open(app)).toBe("hello, 0 left")
})
