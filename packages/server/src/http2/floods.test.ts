import { describe, expect, it } from "vitest"
import { eventually } from "../../../../test/support/eventually.js"
import { FLAG, FRAME, SETTING } from "./frame.js"
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
  windowUpdate,
} from "./raw-client.test-support.js"

const { END_HEADERS, END_STREAM } = FLAG

function times(count: number, make: (i: number) => Buffer): Buffer {
  return Buffer.concat(Array.from({ length: count }, (_, i) => make(i)))
}

describe("a hostile client gets ENHANCE_YOUR_CALM and is disconnected", () => {
  it.each<[string, () => readonly Buffer[]]>([
    ["pings without end", () => [times(20_000, () => frame(FRAME.PING, 0, 0, Buffer.alloc(8)))]],
    ["settings without end", () => [times(20_000, () => settings())]],
    ["priorities without end", () => [times(20_000, () => frame(FRAME.PRIORITY, 0, 1, Buffer.alloc(5)))]],
    ["frames of no known type without end", () => [times(20_000, () => frame(0x77, 0, 0))]],
    ["a window that grows without end", () => [times(20_000, () => windowUpdate(0, 1))]],
    ["DATA without a byte", () => [request(1, "/echo", 0), times(20_000, () => frame(FRAME.DATA, 0, 1))]],
    [
      "DATA of nothing but padding",
      () => [request(1, "/echo", 0), times(20_000, () => frame(FRAME.DATA, FLAG.PADDED, 1, Buffer.of(0)))],
    ],
    [
      "requests that are taken back (CVE-2023-44487)",
      () => [
        times(2_000, (i) =>
          Buffer.concat([request(2 * i + 1, "/later"), frame(FRAME.RST_STREAM, 0, 2 * i + 1, uint32(8))]),
        ),
      ],
    ],
    [
      "requests that it makes the server take back (CVE-2025-8671)",
      () => [times(2_000, (i) => Buffer.concat([request(2 * i + 1, "/later"), windowUpdate(2 * i + 1, 0)]))],
    ],
    [
      "requests that are malformed",
      () => [times(2_000, (i) => frame(FRAME.HEADERS, END_HEADERS | END_STREAM, 2 * i + 1, Buffer.of(0x83)))],
    ],
    [
      "CONTINUATION without end (CVE-2024-27316)",
      () => [
        frame(FRAME.HEADERS, 0, 1, blockFor("/echo")),
        times(20, (i) => frame(FRAME.CONTINUATION, 0, 1, Buffer.from(`\x00\x02x${i % 10}\x01y`, "latin1"))),
      ],
    ],
    [
      "CONTINUATION with nothing in it",
      () => [frame(FRAME.HEADERS, 0, 1, blockFor("/echo")), times(20, () => frame(FRAME.CONTINUATION, 0, 1))],
    ],
    [
      "headers of many bytes",
      () => [
        frame(FRAME.HEADERS, 0, 1, blockFor("/echo")),
        times(5, () => frame(FRAME.CONTINUATION, 0, 1, Buffer.alloc(16_384))),
      ],
    ],
  ])("%s", async (_, frames) => {
    const started = await start()
    const client = await dial(started)
    client.send(...frames())
    expect(await client.goAway()).toBe("ENHANCE_YOUR_CALM")
    expect(started.errors).toEqual([])
    expect(started.later.length).toBeLessThan(1_100)
    await eventually(() => started.closed.count >= started.later.length)
    const other = await dial(started)
    other.send(request(1, "/large/2"))
    expect(await other.answer(1)).toBe("xx")
  })
})

describe("a busy client is not treated as hostile", () => {
  it("may send a PING and a WINDOW_UPDATE with every request", async () => {
    const client = await dial(await start())
    for (let round = 0; round < 8; round++) {
      const calls = times(1_000, (i) => {
        const id = 2 * (round * 1_000 + i) + 1
        return Buffer.concat([
          request(id, "/echo", 0),
          frame(FRAME.DATA, 0, id),
          frame(FRAME.DATA, END_STREAM, id, Buffer.from("x")),
          frame(FRAME.PING, 0, 0, Buffer.alloc(8)),
          windowUpdate(0, 1),
        ])
      })
      client.send(calls)
      await client.answer(2 * (round * 1_000 + 999) + 1)
      client.frames.length = 0
    }
    expect(client.isClosed).toBe(false)
  })

  it("may cancel a thousand requests at once", async () => {
    const started = await start({ maxStreams: 1_000 })
    const client = await dial(started)
    client.send(times(1_000, (i) => request(2 * i + 1, "/later")))
    await eventually(() => started.later.length === 1_000)
    client.send(times(1_000, (i) => frame(FRAME.RST_STREAM, 0, 2 * i + 1, uint32(8))))
    await eventually(() => started.closed.count === 1_000)
    for (const stream of started.later) answer(stream, "for nobody")
    client.send(request(2_001, "/large/1"))
    expect(await client.answer(2_001)).toBe("x")
    expect(client.of(FRAME.DATA)).toHaveLength(1)
  })

  it("may cancel every other request, as a proxy does whose clients disconnect", async () => {
    const client = await dial(await start())
    for (let round = 0; round < 20; round++) {
      const answered = (i: number) => 4 * (round * 100 + i) + 1
      client.send(
        times(100, (i) => {
          const takenBack = answered(i) + 2
          const reset = frame(FRAME.RST_STREAM, 0, takenBack, uint32(8))
          return Buffer.concat([request(answered(i), "/large/1"), request(takenBack, "/later"), reset])
        }),
      )
      expect(await client.answer(answered(99))).toBe("x")
      client.frames.length = 0
    }
    expect(client.isClosed).toBe(false)
  })
})

describe("the memory and the work that a client can cause are bounded", () => {
  it("a header that is repeated from the table without end is not buffered", async () => {
    const started = await start({ maxHeaderBytes: 4_096 })
    const client = await dial(started)
    // Puts 4,000 bytes into the table, and then names them 60,000 times: 240 MB.
    const value = Buffer.alloc(4_000, "x")
    const first = Buffer.concat([blockFor("/echo"), Buffer.from("\x40\x01a\x7f\xa1\x1e", "latin1"), value])
    const bomb = Buffer.concat([first, Buffer.alloc(12_000, 0x80 | 62)])
    const before = process.memoryUsage().heapUsed
    const began = performance.now()
    client.send(frame(FRAME.HEADERS, END_STREAM, 1, bomb.subarray(0, 16_000)))
    for (let i = 0; i < 2; i++) client.send(frame(FRAME.CONTINUATION, 0, 1, Buffer.alloc(16_000, 0x80 | 62)))
    client.send(frame(FRAME.CONTINUATION, END_HEADERS, 1, Buffer.alloc(1_000, 0x80 | 62)))
    await client.settle()
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(50_000_000)
    expect(performance.now() - began).toBeLessThan(5_000)
    client.send(request(3, "/large/2"))
    expect(await client.answer(3)).toBe("xx")
  })

  it("a client that does not read its answers is not read from", async () => {
    const started = await start()
    const client = await dial(started, settings([SETTING.INITIAL_WINDOW_SIZE, 2 ** 31 - 1]))
    client.send(windowUpdate(0, 2 ** 30))
    await client.settle()
    client.socket.pause()
    // Fifty megabytes of answers, of which the system's own buffers take some before the server notices.
    for (let i = 0; i < 50; i++) {
      client.send(times(20, (j) => request(2 * (i * 20 + j) + 1, "/large/50000")))
      await new Promise(setImmediate)
    }
    expect(started.closed.count).toBeLessThan(500)
    client.socket.resume()
    await client.answer(2 * 999 + 1)
    expect(started.closed.count).toBe(1_000)
  })

  it("a client that sends nothing, or never a whole frame, is disconnected", async () => {
    const started = await start({ requestTimeoutMs: 100 })
    const silent = await dialSilently(started.listener)
    const half = await dial(started)
    half.send(request(1, "/echo", 0), frame(FRAME.DATA, 0, 1, Buffer.alloc(100)).subarray(0, 50))
    await eventually(() => silent.isClosed && half.isClosed)
    expect(started.closed.count).toBe(1)
  })

  it("a client that ignores GOAWAY is disconnected", async () => {
    const started = await start()
    const client = await dial(started)
    client.socket.allowHalfOpen = true
    client.send(frame(FRAME.DATA, 0, 1))
    await client.next(FRAME.GOAWAY)
    // Until it is cut, what it says is dropped; then the system says that there is nobody.
    await eventually(() => {
      client.send(frame(FRAME.PING, 0, 0, Buffer.alloc(8)))
      return client.isClosed
    })
    expect(client.of(FRAME.PING)).toEqual([])
  })
})
