import { once } from "node:events"
import { type ClientHttp2Session, connect, constants } from "node:http2"
import { createConnection } from "node:net"
import { gzipSync } from "node:zlib"
import { afterEach, describe, expect, it } from "vitest"
import { eventually } from "../../../../test/support/eventually.js"
import type { Listener } from "../listener.js"
import type { StreamMethod, UnaryMethod } from "./grpc-method.js"
import { type GrpcServerOptions, startGrpc } from "./grpc-server.js"
import { GRPC_STATUS } from "./grpc-status.js"

const cleanUps: (() => unknown)[] = []
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp()
})

interface Held {
  readonly listener: Listener
  readonly errors: unknown[]
  readonly waiting: ((frame: Buffer) => void)[]
}

/** Answers what it is asked, at once or when it is let. */
async function start(options: Partial<GrpcServerOptions> = {}): Promise<Held> {
  const errors: unknown[] = []
  const waiting: ((frame: Buffer) => void)[] = []
  const methods: GrpcServerOptions["methods"] = new Map<string, UnaryMethod | StreamMethod>([
    ["/test.Echo/Now", { kind: "unary", answer: (message: Buffer) => frame(message) }],
    [
      "/test.Echo/Later",
      { kind: "unary", answer: () => new Promise<Buffer>((resolve) => waiting.push(resolve)) },
    ],
    [
      "/test.Echo/Broken",
      {
        kind: "unary",
        answer() {
          throw new Error("secret")
        },
      },
    ],
    [
      "/test.Echo/Talk",
      {
        kind: "stream",
        open: ({ send, end }) => ({ message: (message) => send(frame(message)), end: () => end() }),
      },
    ],
  ])
  const listener = await startGrpc({
    host: "127.0.0.1",
    port: 0,
    methods,
    onError: (error) => errors.push(error),
    ...options,
  })
  cleanUps.push(() => listener.close(0))
  return { listener, errors, waiting }
}

function open({ listener }: Held): ClientHttp2Session {
  const session = connect(`http://${listener.address}`)
  session.on("error", () => {})
  cleanUps.push(() => session.destroy())
  return session
}

function frame(message: Buffer, flag = 0): Buffer {
  const prefix = Buffer.alloc(5)
  prefix[0] = flag
  prefix.writeUInt32BE(message.length, 1)
  return Buffer.concat([prefix, message])
}

interface Ended {
  readonly http: number
  /** Of the trailers, or of the headers when there is nothing else. */
  readonly status: number
  readonly message: string | undefined
  readonly headers: Readonly<Record<string, unknown>>
  readonly body: Buffer
}

interface CallOptions {
  readonly headers?: Readonly<Record<string, string>>
  readonly chunks?: readonly Buffer[]
  readonly endsBody?: boolean
}

/** A call written by hand, so that it can be wrong in any way. */
function call(session: ClientHttp2Session, path: string, options: CallOptions = {}): Promise<Ended> {
  const { headers = {}, chunks = [frame(Buffer.from("hello"))], endsBody = true } = options
  return new Promise((resolve, reject) => {
    const stream = session.request({
      ":method": "POST",
      ":path": path,
      "content-type": "application/grpc",
      te: "trailers",
      ...headers,
    })
    let last: Record<string, unknown> = {}
    const body: Buffer[] = []
    stream.on("response", (found) => {
      last = { ...last, ...found }
    })
    stream.on("trailers", (found) => {
      last = { ...last, ...found }
    })
    stream.on("data", (chunk: Buffer) => body.push(chunk))
    stream.on("error", reject)
    stream.on("close", () =>
      resolve({
        http: Number(last[":status"]),
        status: Number(last["grpc-status"]),
        message: last["grpc-message"] as string | undefined,
        headers: last,
        body: Buffer.concat(body),
      }),
    )
    for (const chunk of chunks) stream.write(chunk)
    if (endsBody) stream.end()
  })
}

const NOW = "/test.Echo/Now"

describe("a gRPC call", () => {
  it("is answered with its message and status OK in the trailers", async () => {
    const held = await start()
    const ended = await call(open(held), NOW)
    expect(ended).toMatchObject({ http: 200, status: 0, body: frame(Buffer.from("hello")) })
    expect(ended.headers["content-type"]).toBe("application/grpc")
  })

  it("may arrive byte by byte", async () => {
    const held = await start()
    const bytes = frame(Buffer.from("slowly but surely"))
    const chunks = [...bytes].map((byte) => Buffer.from([byte]))
    expect(await call(open(held), NOW, { chunks })).toMatchObject({ status: 0, body: bytes })
    const two = [...bytes, ...bytes].map((byte) => Buffer.from([byte]))
    const talked = await call(open(held), "/test.Echo/Talk", { chunks: two })
    expect(talked).toMatchObject({ status: 0, body: Buffer.concat([bytes, bytes]) })
  })

  it("may carry an empty message", async () => {
    const held = await start()
    const chunks = [frame(Buffer.alloc(0))]
    expect(await call(open(held), NOW, { chunks })).toMatchObject({ status: 0, body: chunks[0] })
  })

  it("accepts uncompressed messages from a client that announces compression", async () => {
    const held = await start()
    expect((await call(open(held), NOW, { headers: { "grpc-encoding": "gzip" } })).status).toBe(0)
  })
})

describe("a gRPC call that cannot be answered ends with its status alone", () => {
  const compressed = frame(gzipSync("hello"), 1)
  const large = frame(Buffer.alloc(2_000))
  const announced = Buffer.from([0, 0xff, 0xff, 0xff, 0xff])

  it.each<[keyof typeof GRPC_STATUS, string, string, CallOptions]>([
    ["UNIMPLEMENTED", "a method that is not here", "/test.Echo/Nope", {}],
    [
      "UNIMPLEMENTED",
      "a compressed message",
      NOW,
      { chunks: [compressed], headers: { "grpc-encoding": "gzip" } },
    ],
    ["INVALID_ARGUMENT", "a message compressed by nothing", NOW, { chunks: [compressed] }],
    ["RESOURCE_EXHAUSTED", "a message that is too large", NOW, { chunks: [large] }],
    ["RESOURCE_EXHAUSTED", "a length that is too large", NOW, { chunks: [announced], endsBody: false }],
    [
      "RESOURCE_EXHAUSTED",
      "too large on a stream",
      "/test.Echo/Talk",
      { chunks: [announced], endsBody: false },
    ],
    ["INVALID_ARGUMENT", "no message", NOW, { chunks: [] }],
    ["INVALID_ARGUMENT", "half a message", NOW, { chunks: [large.subarray(0, 100)] }],
    [
      "INVALID_ARGUMENT",
      "half a message on a stream",
      "/test.Echo/Talk",
      { chunks: [large.subarray(0, 100)] },
    ],
    [
      "INVALID_ARGUMENT",
      "two messages",
      NOW,
      { chunks: [Buffer.concat([frame(Buffer.alloc(1)), frame(Buffer.alloc(1))])] },
    ],
  ])("%s: %s", async (status, _, path, options) => {
    const held = await start({ maxMessageBytes: status === "RESOURCE_EXHAUSTED" ? 1_000 : 10_000 })
    const ended = await call(open(held), path, options)
    expect(ended).toMatchObject({ http: 200, status: GRPC_STATUS[status], body: Buffer.alloc(0) })
    expect(ended.message).toMatch(/\w/)
    if (status === "UNIMPLEMENTED") expect(ended.headers["grpc-accept-encoding"]).toBe("identity")
    expect(held.errors).toEqual([])
  })

  it("INTERNAL: a bug in the server, without details for the client", async () => {
    const held = await start()
    const ended = await call(open(held), "/test.Echo/Broken")
    expect(ended).toMatchObject({ status: GRPC_STATUS.INTERNAL, message: "the server's log says more" })
    expect(held.errors).toMatchObject([{ message: "secret" }])
  })

  it("answers a request that is not gRPC with an HTTP status", async () => {
    const held = await start()
    const session = open(held)
    expect((await call(session, NOW, { headers: { ":method": "PUT" } })).http).toBe(405)
    expect((await call(session, NOW, { headers: { "content-type": "application/json" } })).http).toBe(415)
    expect((await call(session, NOW, { headers: { "content-type": "application/grpc-web" } })).http).toBe(415)
  })
})

describe("deadlines", () => {
  it("grpc-timeout ends a call whose decision takes too long", async () => {
    const held = await start()
    const ended = call(open(held), "/test.Echo/Later", { headers: { "grpc-timeout": "20m" } })
    expect((await ended).status).toBe(GRPC_STATUS.DEADLINE_EXCEEDED)
    // What comes too late goes nowhere.
    held.waiting[0]?.(frame(Buffer.from("late")))
    expect((await call(open(held), NOW)).status).toBe(0)
  })

  it("a message that does not arrive ends the call", async () => {
    const held = await start({ requestTimeoutMs: 100 })
    const session = open(held)
    const half = { chunks: [frame(Buffer.alloc(50)).subarray(0, 20)], endsBody: false }
    expect((await call(session, NOW, half)).status).toBe(GRPC_STATUS.DEADLINE_EXCEEDED)
    const nothing = { chunks: [], endsBody: false }
    expect((await call(session, NOW, nothing)).status).toBe(GRPC_STATUS.DEADLINE_EXCEEDED)
  })

  it("a client that has its answer and does not end its call is reset", async () => {
    const held = await start({ requestTimeoutMs: 100 })
    const ended = await call(open(held), NOW, { endsBody: false })
    expect(ended).toMatchObject({ status: 0, body: frame(Buffer.from("hello")) })
  })

  it("a connection that sends nothing is closed", async () => {
    const held = await start({ requestTimeoutMs: 100 })
    const [host, port] = held.listener.address.split(":")
    const socket = createConnection(Number(port), host)
    cleanUps.push(() => socket.destroy())
    socket.on("error", () => {})
    socket.resume()
    await once(socket, "close")
  })

  it("an idle connection gets GOAWAY", async () => {
    const held = await start({ keepAliveMs: 100, requestTimeoutMs: 100 })
    const session = open(held)
    expect((await call(session, NOW)).status).toBe(0)
    await eventually(() => session.closed)
  })
})

describe("a server that goes away", () => {
  it("answers every call in progress, and accepts no new connection", async () => {
    const held = await start()
    const sessions = [open(held), open(held)]
    const calls = Array.from({ length: 200 }, (_, i) =>
      call(sessions[i % 2] as ClientHttp2Session, "/test.Echo/Later"),
    )
    await eventually(() => held.waiting.length === 200)
    const goaways: number[] = []
    for (const session of sessions) session.on("goaway", (code) => goaways.push(code))
    const closed = held.listener.close(10_000)
    await eventually(() => goaways.length >= 2)
    for (const answer of held.waiting) answer(frame(Buffer.from("done")))
    const statuses = (await Promise.all(calls)).map(({ status }) => status)
    expect(statuses).toEqual(statuses.map(() => 0))
    await closed
    expect(new Set(goaways)).toEqual(new Set([constants.NGHTTP2_NO_ERROR]))
    const late = connect(`http://${held.listener.address}`)
    await expect(once(late, "connect")).rejects.toMatchObject({ code: "ECONNREFUSED" })
  })

  it("closes the remaining connections at its deadline", async () => {
    const held = await start()
    const session = open(held)
    const under = call(session, "/test.Echo/Later").catch(() => "cut")
    await eventually(() => held.waiting.length === 1)
    await held.listener.close(50)
    await under
    expect(session.destroyed || session.closed).toBe(true)
  })
})

describe("hostile clients", () => {
  it("cannot cause work by opening and resetting calls endlessly", async () => {
    const held = await start()
    const session = open(held)
    await once(session, "connect")
    for (let i = 0; i < 5_000 && !session.closed && !session.destroyed; i++) {
      const stream = session.request({
        ":method": "POST",
        ":path": "/test.Echo/Later",
        "content-type": "application/grpc",
      })
      stream.on("error", () => {})
      stream.end(frame(Buffer.from("hello")))
      stream.close(constants.NGHTTP2_CANCEL)
      if (i % 100 === 99) await new Promise(setImmediate)
    }
    await eventually(() => session.destroyed)
    // A thousand at once, and 33 more each second.
    expect(held.waiting.length).toBeLessThan(1_200)
    expect((await call(open(held), NOW)).status).toBe(0)
  })

  it("cannot send endless headers", async () => {
    const held = await start({ maxHeaderBytes: 4_096 })
    const big = { headers: { "x-large": "x".repeat(50_000) } }
    expect((await call(open(held), NOW, big)).http).toBe(431)
    expect((await call(open(held), NOW)).status).toBe(0)
  })

  it("cannot make the server hold more than 8 MiB of incomplete messages", async () => {
    const held = await start()
    const session = open(held)
    const part = { chunks: [frame(Buffer.alloc(250_000)).subarray(0, 240_000)], endsBody: false }
    // Thirty-four of them fit.
    const first = await Promise.race(Array.from({ length: 36 }, () => call(session, NOW, part)))
    expect(first.status).toBe(GRPC_STATUS.RESOURCE_EXHAUSTED)
    // What is whole is answered all the same, and what others have is theirs.
    expect((await call(session, NOW)).status).toBe(0)
    expect((await call(open(held), NOW, { chunks: [frame(Buffer.alloc(250_000))] })).status).toBe(0)
  })

  it("have no more calls at once than announced", async () => {
    const held = await start({ maxStreams: 10 })
    const session = open(held)
    await once(session, "remoteSettings")
    expect(session.remoteSettings.maxConcurrentStreams).toBe(10)
    const calls = Array.from({ length: 30 }, () => call(session, "/test.Echo/Later"))
    await eventually(() => held.waiting.length === 10)
    expect((await call(open(held), NOW)).status).toBe(0)
    expect(held.waiting.length).toBe(10)
    for (let i = 0; i < 30; i++) (await eventually(() => held.waiting[i]))(frame(Buffer.alloc(0)))
    expect((await Promise.all(calls)).every(({ status }) => status === 0)).toBe(true)
  })

  it("cannot crash it with bytes that are not HTTP/2, nor keep a connection open with them", async () => {
    const held = await start({ requestTimeoutMs: 250 })
    const [host, port] = held.listener.address.split(":")
    const closed: Promise<unknown>[] = []
    const random = generator(20_261_115)
    const preface = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
    const settings = Buffer.from("000000040000000000", "hex")
    for (let i = 0; i < 600; i++) {
      const socket = createConnection(Number(port), host)
      socket.on("error", () => {})
      const junk = Buffer.from(Array.from({ length: 1 + (random() % 300) }, () => random() % 256))
      // Half of them get as far as frames, with types and flags that exist, and stay.
      if (i % 2 === 0) socket.write(Buffer.concat([preface, settings, ...junkFrames(random, junk)]))
      else socket.end(i % 4 === 1 ? junk : Buffer.concat([preface, junk]))
      socket.resume()
      closed.push(once(socket, "close"))
      if (i % 50 === 49) await new Promise(setImmediate)
    }
    await Promise.all(closed)
    expect((await call(open(held), NOW)).status).toBe(0)
    expect(held.errors).toEqual([])
  })
})

/** Frames of every type, with a length that is right and all else by chance. */
function junkFrames(random: () => number, junk: Buffer): Buffer[] {
  return Array.from({ length: 5 }, () => {
    const payload = junk.subarray(0, random() % (junk.length + 1))
    const head = Buffer.alloc(9)
    head.writeUIntBE(payload.length, 0, 3)
    head[3] = random() % 11
    head[4] = random() % 64
    head.writeUInt32BE(random() % 8, 5)
    return Buffer.concat([head, payload])
  })
}

function generator(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state >>> 8
  }
}
