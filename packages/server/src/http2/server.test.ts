import { describe, expect, it } from "vitest"
import { eventually } from "../../../../test/support/eventually.js"
import { FLAG, FRAME, PREFACE, SETTING } from "./frame.js"
import {
  answer,
  blockFor,
  dial,
  dialSilently,
  frame,
  request,
  settings,
  start,
  uint32,
} from "./raw-client.test-support.js"

const { END_HEADERS, END_STREAM, PADDED, PRIORITY } = FLAG

describe("a request", () => {
  it("is answered with headers, a body and trailers", async () => {
    const client = await dial(await start())
    client.send(request(1, "/echo", 0), frame(FRAME.DATA, END_STREAM, 1, Buffer.from("hello")))
    expect(await client.answer(1)).toBe("hello")
    expect(client.of(FRAME.HEADERS, 1).map((found) => client.headers(found))).toEqual([
      { ":status": "200" },
      { "x-end": "yes" },
    ])
  })

  it("is read the same wherever it is split", async () => {
    const started = await start()
    const bytes = Buffer.concat([
      PREFACE,
      settings(),
      request(1, "/echo", 0),
      frame(FRAME.DATA, 0, 1, Buffer.from("hello ")),
      frame(FRAME.DATA, END_STREAM, 1, Buffer.from("there")),
    ])
    for (let at = 1; at < bytes.length; at += 3) {
      const client = await dialSilently(started.listener)
      client.socket.setNoDelay(true)
      client.send(bytes.subarray(0, at))
      // Gone before the rest is written, so that it is read by itself.
      await new Promise((resolve) => client.socket.write("", resolve))
      client.send(bytes.subarray(at))
      expect(await client.answer(1)).toBe("hello there")
      client.socket.destroy()
    }
  })

  it("may have padding, a priority, CONTINUATION frames and trailers", async () => {
    const client = await dial(await start())
    const block = blockFor("/echo")
    const padding = Buffer.alloc(7)
    const first = Buffer.concat([Buffer.of(7), uint32(0), Buffer.of(200), block.subarray(0, 5), padding])
    client.send(
      frame(FRAME.HEADERS, PADDED | PRIORITY, 1, first),
      frame(FRAME.CONTINUATION, 0, 1, block.subarray(5, 20)),
      frame(FRAME.CONTINUATION, END_HEADERS, 1, block.subarray(20)),
      frame(FRAME.DATA, PADDED, 1, Buffer.concat([Buffer.of(7), Buffer.from("hello"), padding])),
      frame(FRAME.HEADERS, END_STREAM | END_HEADERS, 1, Buffer.from("\x00\x01a\x01b", "latin1")),
    )
    expect(await client.answer(1)).toBe("hello")
  })

  it("is answered in one write with all others that arrived with it", async () => {
    const client = await dial(await start())
    await client.settle()
    const before = client.reads
    client.send(...Array.from({ length: 100 }, (_, i) => request(2 * i + 1, "/large/50")))
    await client.answer(199)
    expect(client.frames.filter(({ type }) => type === FRAME.DATA)).toHaveLength(100)
    expect(client.reads - before).toBe(1)
  })

  it("is answered also when its answer is asynchronous", async () => {
    const started = await start()
    const client = await dial(started)
    client.send(request(1, "/later"), request(3, "/later"))
    await eventually(() => started.later.length === 2)
    answer(started.later[1]!, "second")
    answer(started.later[0]!, "first")
    expect([await client.answer(1), await client.answer(3)]).toEqual(["first", "second"])
  })

  it("whose handler throws ends only its own connection", async () => {
    const started = await start()
    const [client, other] = [await dial(started), await dial(started)]
    client.send(request(1, "/broken"))
    expect(await client.goAway()).toBe("INTERNAL_ERROR")
    expect(started.errors).toMatchObject([{ message: "broken" }])
    other.send(request(1, "/large/3"))
    expect(await other.answer(1)).toBe("xxx")
  })

  it("of a client that half-closes is answered if it is complete", async () => {
    const started = await start()
    const client = await dial(started)
    client.socket.end(Buffer.concat([request(1, "/later"), request(3, "/echo", 0)]))
    await eventually(() => started.closed.count === 1)
    answer(started.later[0]!, "still")
    expect(await client.answer(1)).toBe("still")
    await eventually(() => client.isClosed)
  })
})

describe("a client with a small header table", () => {
  it("gets one table size update of 0, before the next headers", async () => {
    const client = await dial(await start(), settings([SETTING.HEADER_TABLE_SIZE, 0]))
    client.send(request(1, "/large/1"), settings([SETTING.HEADER_TABLE_SIZE, 100]), request(3, "/large/1"))
    await client.answer(3)
    const starts = client.of(FRAME.HEADERS).map(({ payload }) => payload[0])
    expect(starts).toEqual([0x20, 0x00, 0x88, 0x00])
  })
})

describe("a stream error ends only its stream", () => {
  const trailers = frame(FRAME.HEADERS, END_HEADERS | END_STREAM, 1, blockFor("/echo"))
  it.each<[string, string, readonly Buffer[]]>([
    [
      "DATA behind the end",
      "STREAM_CLOSED",
      [request(1, "/later"), frame(FRAME.DATA, 0, 1, Buffer.from("x"))],
    ],
    ["a path behind the body", "PROTOCOL_ERROR", [request(1, "/echo", 0), trailers]],
    [
      "more than was announced",
      "PROTOCOL_ERROR",
      [
        frame(FRAME.HEADERS, END_HEADERS, 1, blockFor("/echo", { "content-length": "2" })),
        frame(FRAME.DATA, END_STREAM, 1, Buffer.from("abc")),
      ],
    ],
    [
      "less than was announced",
      "PROTOCOL_ERROR",
      [frame(FRAME.HEADERS, END_HEADERS | END_STREAM, 1, blockFor("/echo", { "content-length": "2" }))],
    ],
    [
      "a header of HTTP/1",
      "PROTOCOL_ERROR",
      [frame(FRAME.HEADERS, END_HEADERS | END_STREAM, 1, blockFor("/echo", { connection: "close" }))],
    ],
    [
      "a window that grows by nothing",
      "PROTOCOL_ERROR",
      [request(1, "/echo", 0), frame(FRAME.WINDOW_UPDATE, 0, 1, uint32(0))],
    ],
    [
      "a window that grows too large",
      "FLOW_CONTROL_ERROR",
      [request(1, "/echo", 0), frame(FRAME.WINDOW_UPDATE, 0, 1, uint32(2 ** 31 - 1))],
    ],
  ])("%s: %s", async (_, code, frames) => {
    const client = await dial(await start())
    client.send(...frames, request(3, "/large/2"))
    expect(await client.reset(1)).toBe(code)
    expect(await client.answer(3)).toBe("xx")
  })

  it("a request above the limit of concurrent streams is refused", async () => {
    const started = await start({ maxStreams: 2 })
    const client = await dial(started)
    client.send(request(1, "/later"), request(3, "/later"), request(5, "/later"))
    expect(await client.reset(5)).toBe("REFUSED_STREAM")
    expect(started.later).toHaveLength(2)
    answer(started.later[0]!, "done")
    await client.answer(1)
    client.send(request(7, "/large/1"))
    expect(await client.answer(7)).toBe("x")
  })

  it("frames that arrive on a stream after its reset are ignored", async () => {
    const client = await dial(await start())
    client.send(
      frame(FRAME.HEADERS, END_HEADERS, 1, blockFor("/echo", { connection: "close" })),
      frame(FRAME.DATA, 0, 1, Buffer.from("x")),
      frame(FRAME.HEADERS, END_HEADERS | END_STREAM, 1, Buffer.from("\x00\x01a\x01b", "latin1")),
      request(3, "/large/2"),
    )
    expect(await client.answer(3)).toBe("xx")
    expect(client.of(FRAME.RST_STREAM)).toHaveLength(1)
    expect(client.of(FRAME.GOAWAY)).toHaveLength(0)
  })
})

describe("a connection error ends the connection", () => {
  it.each<[string, string, readonly Buffer[]]>([
    ["a frame that is too large", "FRAME_SIZE_ERROR", [frame(FRAME.DATA, 0, 1, Buffer.alloc(16_385))]],
    ["DATA on a stream that has never been", "PROTOCOL_ERROR", [frame(FRAME.DATA, 0, 5)]],
    ["a stream of the server's", "PROTOCOL_ERROR", [request(2, "/echo")]],
    [
      "HEADERS that are no HPACK",
      "COMPRESSION_ERROR",
      [frame(FRAME.HEADERS, END_HEADERS, 1, Buffer.of(0x80))],
    ],
    [
      "something between the parts of a header block",
      "PROTOCOL_ERROR",
      [frame(FRAME.HEADERS, 0, 1), frame(FRAME.PING, 0, 0, Buffer.alloc(8))],
    ],
    ["CONTINUATION of nothing", "PROTOCOL_ERROR", [frame(FRAME.CONTINUATION, END_HEADERS, 1)]],
    ["a promise", "PROTOCOL_ERROR", [frame(FRAME.PUSH_PROMISE, END_HEADERS, 1, uint32(2))]],
    ["a PING of seven bytes", "FRAME_SIZE_ERROR", [frame(FRAME.PING, 0, 0, Buffer.alloc(7))]],
    ["settings on a stream", "PROTOCOL_ERROR", [frame(FRAME.SETTINGS, 0, 1)]],
    [
      "a window that no number holds",
      "FLOW_CONTROL_ERROR",
      [settings([SETTING.INITIAL_WINDOW_SIZE, 2 ** 31])],
    ],
    [
      "more padding than frame",
      "PROTOCOL_ERROR",
      [request(1, "/echo", 0), frame(FRAME.DATA, PADDED, 1, Buffer.of(1))],
    ],
    ["HTTP/1", "PROTOCOL_ERROR", []],
  ])("%s: %s", async (what, code, frames) => {
    const started = await start()
    const client = what === "HTTP/1" ? await dialSilently(started.listener) : await dial(started)
    client.send(...frames, Buffer.from(what === "HTTP/1" ? "GET / HTTP/1.1\r\nhost: x\r\n\r\n" : ""))
    expect(await client.goAway()).toBe(code)
    expect(started.errors).toEqual([])
  })

  it("a first frame that is not SETTINGS", async () => {
    const client = await dialSilently((await start()).listener)
    client.send(PREFACE, request(1, "/echo"))
    expect(await client.goAway()).toBe("PROTOCOL_ERROR")
  })
})

describe("a server that goes away", () => {
  it("answers requests that crossed its first GOAWAY, and refuses those after its last", async () => {
    const started = await start()
    const client = await dial(started)
    client.send(request(1, "/later"))
    await eventually(() => started.later.length === 1)
    const closed = started.listener.close(5_000)
    const first = await client.next(FRAME.GOAWAY)
    expect(first.payload.readUInt32BE(0)).toBe(2 ** 31 - 1)
    client.send(request(3, "/large/2"))
    expect(await client.answer(3)).toBe("xx")
    const ping = await client.next(FRAME.PING)
    client.send(frame(FRAME.PING, FLAG.ACK, 0, ping.payload))
    const last = await eventually(() => client.of(FRAME.GOAWAY)[1])
    expect(last.payload.readUInt32BE(0)).toBe(3)
    client.send(request(5, "/echo", 0), frame(FRAME.DATA, END_STREAM, 5, Buffer.from("late")))
    expect(await client.reset(5)).toBe("REFUSED_STREAM")
    expect(client.isClosed).toBe(false)
    answer(started.later[0]!, "done")
    expect(await client.answer(1)).toBe("done")
    await closed
    await eventually(() => client.isClosed)
  })

  it("drops no request of clients that send until they receive GOAWAY", async () => {
    const started = await start()
    const asked = Array.from({ length: 4 }, async () => {
      const client = await dial(started)
      let requests = 0
      while (client.of(FRAME.GOAWAY).length === 0) {
        client.send(request(2 * requests++ + 1, "/large/3"), request(2 * requests++ + 1, "/large/3"))
        await new Promise(setImmediate)
      }
      client.send(frame(FRAME.PING, FLAG.ACK, 0, (await client.next(FRAME.PING)).payload))
      await eventually(() => client.isClosed)
      return { requests, answered: client.of(FRAME.DATA).length, reset: client.of(FRAME.RST_STREAM).length }
    })
    const other = await dial(started)
    other.send(request(1, "/large/1"))
    await other.answer(1)
    await started.listener.close(5_000)
    for (const { requests, answered, reset } of await Promise.all(asked)) {
      expect(requests).toBeGreaterThan(2)
      expect({ answered, reset }).toEqual({ answered: requests, reset: 0 })
    }
  })

  it("notifies the requests in progress when it closes their connections", async () => {
    const started = await start()
    const client = await dial(started)
    client.send(request(1, "/later"))
    await eventually(() => started.later.length === 1)
    await started.listener.close(20)
    await eventually(() => started.closed.count === 1)
    answer(started.later[0]!, "too late")
    expect(client.of(FRAME.DATA)).toEqual([])
  })
})
