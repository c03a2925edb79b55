import { connect, type IncomingHttpHeaders } from "node:http2"
import { createServer } from "node:net"
import { describe, expect, it, onTestFinished } from "vitest"
import { eventually } from "../../../../../test/support/eventually.js"
import { testCore } from "../../core.test-support.js"
import { FRAME, SETTING } from "../../http2/frame.js"
import { type Frame, frame, type RawClient, settings } from "../../http2/raw-client.test-support.js"
import {
  asks,
  dialTls,
  endsStream,
  framesOf,
  type Http2GatewayOptions,
  startHttp2Gateway,
} from "../http2-gateway.test-support.js"
import { LOOPBACK, startRawUpstream } from "./gateway.test-support.js"
import { createLimiting } from "./limiting.js"

const DENY_ALL = `
version: 1
rules:
  - id: all
    keyBy: global
    limits: [{ algorithm: fixed-window, limit: 1, window: 1m }]
    cost: 2
`

function denyAll() {
  const core = testCore(DENY_ALL)
  onTestFinished(() => core.close())
  return createLimiting(core, { clock: core.clock })
}

const OK = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"
const EARLY = "HTTP/1.1 413 Content Too Large\r\ncontent-length: 5\r\n\r\nlarge"

async function start(answer = OK, options: Http2GatewayOptions = {}) {
  const upstream = await startRawUpstream((socket) => socket.write(answer))
  return await startHttp2Gateway(upstream.origin, options)
}

/** The address of a port at which nobody listens. */
async function nobody(): Promise<string> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, LOOPBACK, resolve))
  const { port } = server.address() as { port: number }
  await new Promise((resolve) => server.close(resolve))
  return `http://${LOOPBACK}:${port}`
}

/** Sends DATA as fast as flow control lets it, for as long as the stream is open on its side. */
function upload(client: RawClient, id: number): void {
  let window = 65_535
  let seen = 0
  const piece = Buffer.alloc(8_192)
  const timer = setInterval(() => {
    for (; seen < client.frames.length; seen++) {
      const found = client.frames[seen]
      if (found?.type === FRAME.WINDOW_UPDATE && found.id === id) window += found.payload.readUInt32BE(0)
    }
    if (client.of(FRAME.RST_STREAM, id).length > 0) clearInterval(timer)
    else if (window >= piece.length) {
      window -= piece.length
      client.send(frame(FRAME.DATA, 0, id, piece))
    }
  }, 5)
  onTestFinished(() => clearInterval(timer))
}

describe("an answer of the gateway over HTTP/2", () => {
  const cases: [string, number, () => Promise<{ port: number }>, Record<string, string>][] = [
    ["429", 429, () => start(OK, { limiting: denyAll() }), {}],
    ["400", 400, () => start(), { host: "other.example" }],
    ["404", 404, () => start(), { ":path": "/nowhere" }],
    ["431", 431, () => start(OK, { maxHeaderBytes: 1_000 }), { "x-large": "x".repeat(2_000) }],
    ["502", 502, async () => startHttp2Gateway(await nobody()), {}],
    ["an upstream's answer before the request was read", 413, () => start(EARLY), {}],
  ]

  it.each(cases)(
    "ends its stream, with no reset, when the request has ended: %s",
    async (_, status, open, headers) => {
      const { port } = await open()
      const client = await dialTls(port)
      client.send(asks(1, headers))
      const frames = await framesOf(client, 1)
      await client.settle()
      expect(Number(client.headers(frames[0] as Frame)[":status"])).toBe(status)
      expect(client.of(FRAME.RST_STREAM)).toEqual([])
      expect(frames.filter(endsStream)).toHaveLength(1)
    },
  )

  it("ends its stream before it asks an upload to stop", async () => {
    // All at once: an upload is asked to stop after two seconds.
    const seen = cases.map(async ([name, status, open, headers]) => {
      const { port } = await open()
      const client = await dialTls(port)
      client.send(asks(1, { ":method": "POST", ...headers }, 0))
      upload(client, 1)
      await eventually(() => client.of(FRAME.RST_STREAM, 1)[0], { within: 10_000 })
      const frames = await framesOf(client, 1)
      const end = frames.findIndex(endsStream)
      const reset = frames.findIndex(({ type }) => type === FRAME.RST_STREAM)
      const isRight = Number(client.headers(frames[0] as Frame)[":status"]) === status
      const code = await client.reset(1)
      // The connection goes on.
      client.send(asks(3, headers))
      const goesOn = (await framesOf(client, 3)).some(endsStream)
      return { name, isRight, endsFirst: end >= 0 && end < reset, code, goesOn }
    })
    expect(await Promise.all(seen)).toEqual(
      cases.map(([name]) => ({ name, isRight: true, endsFirst: true, code: "NO_ERROR", goesOn: true })),
    )
  }, 20_000)

  it("to HEAD is its headers alone", async () => {
    const { port } = await start(OK, { limiting: denyAll() })
    const client = await dialTls(port)
    client.send(asks(1, { ":method": "HEAD" }))
    const frames = await framesOf(client, 1)
    await client.settle()
    expect(frames.map(({ type }) => type)).toEqual([FRAME.HEADERS])
    expect(client.headers(frames[0] as Frame)[":status"]).toBe("429")
  })

  it("reaches node:http2 while it uploads", async () => {
    const { port, certificate } = await start(OK, { limiting: denyAll() })
    const session = connect(`https://localhost:${port}`, { ca: certificate.cert, host: LOOPBACK } as object)
    onTestFinished(() => session.destroy())
    const stream = session.request({ ":method": "POST", ":path": "/" })
    const errors: Error[] = []
    let status: unknown
    let body = ""
    stream.on("error", (error) => void errors.push(error))
    stream.on("response", (headers: IncomingHttpHeaders) => {
      status = headers[":status"]
    })
    stream.setEncoding("utf8").on("data", (piece: string) => {
      body += piece
    })
    stream.write(Buffer.alloc(100_000))
    await eventually(() => stream.closed, { within: 10_000 })
    expect(status).toBe(429)
    expect(JSON.parse(body)).toMatchObject({ status: 429 })
    expect(errors).toEqual([])
  })

  it("without flow-control window is reset after a time, and the connection continues", async () => {
    const { port } = await start(OK, { limiting: denyAll(), answerIdleMs: 500 })
    const client = await dialTls(port, settings([SETTING.INITIAL_WINDOW_SIZE, 0]))
    for (let id = 1; id < 40; id += 2) client.send(asks(id))
    await eventually(() => client.of(FRAME.HEADERS).length === 20)
    expect(client.of(FRAME.RST_STREAM)).toEqual([])
    await eventually(() => client.of(FRAME.RST_STREAM).length === 20)
    expect(await client.reset(1)).toBe("CANCEL")
    client.send(settings([SETTING.INITIAL_WINDOW_SIZE, 65_535]), asks(41))
    expect((await framesOf(client, 41)).some(endsStream)).toBe(true)
  })
})
