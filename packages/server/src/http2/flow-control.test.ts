import { describe, expect, it } from "vitest"
import { eventually } from "../../../../test/support/eventually.js"
import { FLAG, FRAME, SETTING } from "./frame.js"
import { answer, dial, frame, request, settings, start, windowUpdate } from "./raw-client.test-support.js"
import type { Stream } from "./stream.js"

const { END_STREAM } = FLAG
const NO_ROOM = settings([SETTING.INITIAL_WINDOW_SIZE, 0])

describe("data beyond the flow-control window of a client", () => {
  it("is sent up to the window, and continues after WINDOW_UPDATE", async () => {
    const client = await dial(await start(), settings([SETTING.INITIAL_WINDOW_SIZE, 10]))
    client.send(request(1, "/large/25"))
    await client.settle()
    expect(client.body(1)).toHaveLength(10)
    for (let i = 0; i < 14; i++) client.send(windowUpdate(1, 1))
    await client.settle()
    expect(client.body(1)).toHaveLength(24)
    client.send(windowUpdate(1, 100))
    expect(await client.answer(1)).toHaveLength(25)
  })

  it("also waits for the window of the connection", async () => {
    const client = await dial(await start(), settings([SETTING.INITIAL_WINDOW_SIZE, 2 ** 31 - 1]))
    client.send(request(1, "/large/60000"), request(3, "/large/60000"))
    await client.settle()
    expect(client.body(1).length + client.body(3).length).toBe(65_535)
    client.send(windowUpdate(0, 1_000_000))
    expect(await client.answer(1)).toHaveLength(60_000)
    expect(await client.answer(3)).toHaveLength(60_000)
  })

  it("waits when SETTINGS shrink the window of a stream, until they enlarge it", async () => {
    const started = await start()
    const client = await dial(started)
    client.send(request(1, "/later"), NO_ROOM)
    const stream = await eventually(() => started.later[0])
    await client.settle()
    answer(stream, "hello")
    await client.settle()
    expect(client.body(1)).toBe("")
    client.send(settings([SETTING.INITIAL_WINDOW_SIZE, 65_535]))
    expect(await client.answer(1)).toBe("hello")
  })

  it("does not delay other streams", async () => {
    const client = await dial(await start(), NO_ROOM)
    client.send(request(1, "/large/10"), windowUpdate(1, 5), request(3, "/large/10"), windowUpdate(3, 10))
    expect(await client.answer(3)).toHaveLength(10)
    expect(client.body(1)).toHaveLength(5)
  })

  it("is sent in frames that every client accepts", async () => {
    const room = settings([SETTING.INITIAL_WINDOW_SIZE, 1_000_000])
    const client = await dial(await start(), room)
    client.send(windowUpdate(0, 1_000_000), request(1, "/large/100000"))
    expect(await client.answer(1)).toHaveLength(100_000)
    expect(Math.max(...client.of(FRAME.DATA, 1).map(({ payload }) => payload.length))).toBe(16_384)
  })

  it("is dropped with its stream after a deadline", async () => {
    const started = await start({ requestTimeoutMs: 300 })
    const client = await dial(started, NO_ROOM)
    client.send(request(1, "/large/10"))
    expect(await client.reset(1)).toBe("CANCEL")
    expect(started.closed.count).toBe(1)
  })

  it("is limited to a few megabytes", async () => {
    const started = await start()
    const client = await dial(started, NO_ROOM)
    for (let i = 0; i < 9; i++) client.send(request(2 * i + 1, "/large/1000000"))
    await eventually(() => client.isClosed)
    await eventually(() => started.closed.count === 9)
  })
})

describe("the window of the server", () => {
  it("is replenished as it is used, on streams and on the connection", async () => {
    const client = await dial(await start())
    const part = frame(FRAME.DATA, 0, 1, Buffer.alloc(16_000, "x"))
    client.send(request(1, "/echo", 0))
    let sent = 0
    // As a client that keeps to what it is told.
    for (let round = 0; round < 40; round++) {
      const room = 65_535 + grown(client.of(FRAME.WINDOW_UPDATE, 1)) - sent
      expect(room).toBeGreaterThanOrEqual(16_000)
      client.send(part)
      sent += 16_000
      await client.settle()
    }
    expect(65_535 + grown(client.of(FRAME.WINDOW_UPDATE, 0)) - sent).toBeGreaterThan(500_000)
    client.send(frame(FRAME.DATA, END_STREAM, 1), windowUpdate(0, 2_000_000), windowUpdate(1, 2_000_000))
    expect(await client.answer(1)).toHaveLength(sent)
  })
})

describe("the bytes of incomplete requests", () => {
  it("count for their connection until the stream ends, and not after", async () => {
    const started = await start()
    const client = await dial(started)
    client.send(request(1, "/later", 0), request(3, "/later", 0))
    await eventually(() => started.later.length === 2)
    const [first, second] = started.later as [Stream, Stream]
    expect(first.holds(5_000_000)).toBe(true)
    expect(second.holds(5_000_000)).toBe(false)
    client.send(frame(FRAME.RST_STREAM, 0, 1, Buffer.alloc(4)))
    await eventually(() => started.closed.count === 1)
    expect(first.holds(6_000_000)).toBe(true)
    expect(second.holds(8_000_000)).toBe(true)
    expect(second.holds(9_000_000)).toBe(false)
  })
})

function grown(updates: readonly { readonly payload: Buffer }[]): number {
  return updates.reduce((sum, { payload }) => sum + payload.readUInt32BE(0), 0)
}
