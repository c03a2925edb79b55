import { describe, expect, it, onTestFinished } from "vitest"
import { eventually } from "../../../../test/support/eventually.js"
import { HeldBytes } from "../held-bytes.js"
import { FLAG, FRAME, PREFACE } from "../http2/frame.js"
import { blockFor, dialSilently, frame, type RawClient, settings } from "../http2/raw-client.test-support.js"
import type { Listener } from "../listener.js"
import { type GrpcServerOptions, startGrpc } from "./grpc-server.js"
import { GRPC_STATUS } from "./grpc-status.js"

const NOW = "/test.Echo/Now"
const TALK = "/test.Echo/Talk"

async function start(options: Partial<GrpcServerOptions>): Promise<Listener> {
  const methods: GrpcServerOptions["methods"] = new Map([
    [NOW, { kind: "unary" as const, answer: () => Buffer.alloc(5) }],
    [TALK, { kind: "stream" as const, open: () => ({ message() {}, end() {} }) }],
  ])
  const listener = await startGrpc({ host: "127.0.0.1", port: 0, methods, ...options })
  onTestFinished(() => listener.close(0))
  return listener
}

async function dial(listener: Listener): Promise<RawClient> {
  const client = await dialSilently(listener)
  client.send(PREFACE, settings())
  await client.next(FRAME.WINDOW_UPDATE, 0)
  return client
}

/** A call with so many bytes of a message that has 200,000. */
function half(id: number, path: string, bytes: number): Buffer {
  const head = frame(
    FRAME.HEADERS,
    FLAG.END_HEADERS,
    id,
    blockFor(path, { "content-type": "application/grpc" }),
  )
  const prefix = Buffer.alloc(5)
  prefix.writeUInt32BE(200_000, 1)
  const parts = [head, frame(FRAME.DATA, 0, id, prefix)]
  for (let left = bytes; left > 0; left -= 10_000) parts.push(frame(FRAME.DATA, 0, id, Buffer.alloc(10_000)))
  return Buffer.concat(parts)
}

/** The statuses of the calls that have ended. */
function statusesOf(client: RawClient): Set<number> {
  return new Set(client.of(FRAME.HEADERS).map((found) => Number(client.headers(found)["grpc-status"])))
}

describe("half messages", () => {
  it("of all connections together are limited, and a call beyond the limit is RESOURCE_EXHAUSTED", async () => {
    const held = new HeldBytes(4_000_000)
    const listener = await start({ heldBytes: held })
    const clients = await Promise.all(Array.from({ length: 20 }, () => dial(listener)))
    for (const client of clients) for (let id = 1; id < 20; id += 2) client.send(half(id, NOW, 50_000))
    // Who sends more when there is no room left at all is told to go.
    for (const client of clients) await Promise.race([client.settle(), eventually(() => client.isClosed)])
    expect(held.held).toBeLessThanOrEqual(4_000_000)
    expect(held.held).toBeGreaterThan(2_000_000)
    const refused = clients.flatMap((client) => [...statusesOf(client)])
    expect(new Set(refused)).toEqual(new Set([GRPC_STATUS.RESOURCE_EXHAUSTED]))
    for (const client of clients.filter(({ isClosed }) => isClosed))
      expect(await client.goAway()).toBe("ENHANCE_YOUR_CALM")
    for (const client of clients) client.socket.destroy()
    await eventually(() => held.held === 0)
  })

  it("count with the memory allocated for them", async () => {
    const held = new HeldBytes()
    const listener = await start({ heldBytes: held })
    const client = await dial(listener)
    // What comes in pieces is put together in bytes that are twice as many.
    client.send(half(1, NOW, 30_000), half(3, NOW, 30_000))
    await client.settle()
    expect(held.held).toBeGreaterThan(80_000)
  })

  it("on a stream call end it after a time, although a byte arrives now and then", async () => {
    const listener = await start({ requestTimeoutMs: 800 })
    const client = await dial(listener)
    client.send(half(1, TALK, 0))
    const drip = setInterval(() => client.send(frame(FRAME.DATA, 0, 1, Buffer.alloc(1))), 100)
    onTestFinished(() => clearInterval(drip))
    await eventually(() => client.of(FRAME.HEADERS, 1).length > 0)
    expect(statusesOf(client)).toEqual(new Set([GRPC_STATUS.DEADLINE_EXCEEDED]))
  })
})
