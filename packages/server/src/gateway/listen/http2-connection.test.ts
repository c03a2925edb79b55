import { once } from "node:events"
import { describe, expect, it } from "vitest"
import { eventually } from "../../../../../test/support/eventually.js"
import { FRAME, MAX_WINDOW, SETTING } from "../../http2/frame.js"
import { frame, type RawClient, settings, windowUpdate } from "../../http2/raw-client.test-support.js"
import { standstill, startUpstream } from "../front/gateway.test-support.js"
import {
  asks,
  dialTls,
  endsStream,
  framesOf,
  type Http2GatewayOptions,
  startHttp2Gateway,
} from "../http2-gateway.test-support.js"

const PLACES = 3

/** A gateway that takes few connections. `/never` is not answered, `/large` with 8 MB. */
async function start(options: Http2GatewayOptions = {}) {
  const upstream = await startUpstream((request, response) => {
    if (request.url === "/large") response.end(Buffer.alloc(8_000_000))
    else if (request.url !== "/never") response.end("ok")
  })
  return await startHttp2Gateway(upstream.origin, { maxConnections: PLACES, ...options })
}

/** All places are free: that many clients are answered at the same time. */
async function everyPlaceIsFree(port: number): Promise<void> {
  await eventually(
    async () => {
      const clients = await Promise.allSettled(Array.from({ length: PLACES }, () => dialAndAsk(port)))
      for (const client of clients) if (client.status === "fulfilled") client.value.socket.destroy()
      return clients.every(({ status }) => status === "fulfilled")
    },
    { every: 100, what: "every place is free" },
  )
}

async function dialAndAsk(port: number): Promise<RawClient> {
  const client = await dialTls(port)
  client.send(asks(1))
  expect((await framesOf(client, 1)).some(endsStream)).toBe(true)
  return client
}

const TOO_LARGE = frame(FRAME.DATA, 0, 1, Buffer.alloc(20_000))

describe("an HTTP/2 connection frees its place", () => {
  const mistakes: [string, Buffer][] = [
    ["a frame that is too large", TOO_LARGE],
    [
      "a frame that is too large, and a megabyte behind it",
      Buffer.concat([TOO_LARGE, Buffer.alloc(1_000_000)]),
    ],
    ["DATA on no stream", frame(FRAME.DATA, 0, 0, Buffer.alloc(10))],
    ["a window that is too large", windowUpdate(0, MAX_WINDOW)],
    ["settings that are cut short", frame(FRAME.SETTINGS, 0, 0, Buffer.alloc(5))],
    ["a push", frame(FRAME.PUSH_PROMISE, 4, 1, Buffer.alloc(10))],
    ["headers that are none", frame(FRAME.HEADERS, 5, 3, Buffer.from([0xff, 0xff, 0xff, 0xff, 0xff, 0xff]))],
  ]

  it.each(mistakes)("after %s on it, whether or not the client hangs up", async (_, mistake) => {
    const { port } = await start()
    for (let i = 0; i < PLACES; i++) {
      const client = await dialTls(port)
      client.send(asks(1, { ":method": "POST", ":path": "/never" }, 0))
      await client.settle()
      client.send(mistake)
      if (i % 2 === 0) client.socket.end()
    }
    await everyPlaceIsFree(port)
  })

  it("at once", async () => {
    const { port } = await start()
    const took: number[] = []
    // The best of a few: the machine may be busy. A look at all connections every quarter of a second would take longer.
    while (took.length < 10 && !took.some((ms) => ms < 150)) {
      const client = await dialTls(port)
      client.send(asks(1, { ":method": "POST", ":path": "/never" }, 0))
      await client.settle()
      const started = performance.now()
      client.send(TOO_LARGE)
      await once(client.socket, "close")
      took.push(performance.now() - started)
    }
    expect(Math.min(...took)).toBeLessThan(150)
  })

  it("when the client disconnects, whatever requests are in progress", async () => {
    const { port, ended } = await start()
    const clients = await Promise.all(Array.from({ length: PLACES }, () => dialTls(port)))
    for (const client of clients) client.send(asks(1, { ":path": "/never" }))
    for (const client of clients) await client.settle()
    for (const client of clients) client.socket.destroy()
    await everyPlaceIsFree(port)
    expect(ended.filter(({ status }) => status === 499)).toHaveLength(PLACES)
  })

  it("when it is idle for too long, and the client does not close its side", async () => {
    const { port } = await start({ keepAliveMs: 300 })
    for (let i = 0; i < PLACES; i++) {
      const client = await dialAndAsk(port)
      // It never sees that the gateway has closed its own.
      client.socket.pause()
    }
    await everyPlaceIsFree(port)
  })

  it("when the client reads none of its answers", async () => {
    const { port } = await start({ answerIdleMs: 500, deadlines: { bodyIdle: 500 } })
    const wide = settings([SETTING.INITIAL_WINDOW_SIZE, MAX_WINDOW])
    for (let i = 0; i < PLACES; i++) {
      const client = await dialTls(port, wide)
      client.socket.pause()
      client.send(windowUpdate(0, MAX_WINDOW - 65_535))
      for (let id = 1; id < 20; id += 2) client.send(asks(id, { ":path": "/large" }))
    }
    await everyPlaceIsFree(port)
  }, 15_000)
})

describe("an HTTP/2 client that reads nothing", () => {
  it.each([
    ["from its socket", MAX_WINDOW],
    ["because it makes no room", 0],
  ])("makes the gateway hold a bounded number of bytes, however much it requests: %s", async (_, window) => {
    const piece = Buffer.alloc(1_000_000)
    /** How many pieces of each answer were taken. The memory of the process is no sign: other tests share it. */
    const taken: number[] = []
    const upstream = await startUpstream(async (_request, response) => {
      const at = taken.push(0) - 1
      for (let i = 0; i < 64 && !response.destroyed; i++) {
        if (!response.write(piece)) await Promise.race([once(response, "drain"), once(response, "close")])
        taken[at] = i + 1
      }
      response.end()
    })
    const { port } = await startHttp2Gateway(upstream.origin)
    const client = await dialTls(port, settings([SETTING.INITIAL_WINDOW_SIZE, window]))
    client.send(windowUpdate(0, MAX_WINDOW - 65_535))
    await client.settle()
    client.socket.pause()
    const before = process.memoryUsage().arrayBuffers
    for (let id = 1; id < 40; id += 2) client.send(asks(id))
    await eventually(() => taken.length === 20)
    await standstill(() => taken.reduce((sum, pieces) => sum + pieces, 1))
    const held = process.memoryUsage().arrayBuffers - before
    // Each answer still waits to be taken: nobody has hung up, and none is whole.
    expect(upstream.connections.filter((socket) => socket.writableLength > 0)).toHaveLength(20)
    expect(taken.filter((pieces) => pieces < 64)).toHaveLength(20)
    expect(held).toBeLessThan(30_000_000)
  })
})
