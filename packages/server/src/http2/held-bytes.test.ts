import { describe, expect, it } from "vitest"
import { eventually } from "../../../../test/support/eventually.js"
import { HeldBytes } from "../held-bytes.js"
import { FLAG, FRAME, MAX_WINDOW, SETTING } from "./frame.js"
import {
  answer,
  blockFor,
  dial,
  frame,
  type RawClient,
  request,
  type Started,
  settings,
  start,
  windowUpdate,
} from "./raw-client.test-support.js"

const WIDE = settings([SETTING.INITIAL_WINDOW_SIZE, MAX_WINDOW])

/** A client that has room for everything, and reads nothing from its socket. */
async function dialLazily(started: Started): Promise<RawClient> {
  const client = await dial(started, WIDE)
  client.send(windowUpdate(0, MAX_WINDOW - 65_535))
  await client.settle()
  client.socket.pause()
  return client
}

describe("a client that reads nothing", () => {
  it("is disconnected after a time, although it keeps sending requests", async () => {
    const held = new HeldBytes()
    const started = await start({ requestTimeoutMs: 1_000, heldBytes: held })
    const lazy = await dialLazily(started)
    let id = 1
    const ask = (path: string): void => {
      lazy.send(request(id, path))
      id += 2
    }
    // Until the system takes no more for it: from then on each answer waits here.
    while (held.held === 0 && id < 2_000) {
      ask("/large/60000")
      await new Promise((resolve) => setTimeout(resolve, 1))
    }
    expect(held.held).toBeGreaterThan(0)
    const asking = setInterval(() => ask("/echo"), 50)
    try {
      await eventually(() => held.held === 0)
    } finally {
      clearInterval(asking)
    }
    lazy.socket.resume()
    await eventually(() => lazy.isClosed)
  })

  it("makes the server hold a bounded number of bytes, however much it requests and however late answers are", async () => {
    const held = new HeldBytes()
    const started = await start({ heldBytes: held, requestTimeoutMs: 60_000 })
    const lazy = await dialLazily(started)
    let most = 0
    for (let id = 1; id < 1_200; id += 2) {
      lazy.send(request(id, id % 4 === 1 ? "/later" : "/large/60000"))
      for (const stream of started.later.splice(0)) answer(stream, "x".repeat(60_000))
      most = Math.max(most, held.held)
      if (id % 16 === 1) await new Promise(setImmediate)
    }
    await eventually(() => lazy.isClosed || held.held > 1_000_000)
    for (const stream of started.later.splice(0)) answer(stream, "x".repeat(60_000))
    most = Math.max(most, held.held)
    // A megabyte that the socket holds, eight that wait for it, and one write more.
    expect(most).toBeLessThan(9_500_000)
    lazy.socket.destroy()
    await eventually(() => held.held === 0)
  })
})

describe("all clients together", () => {
  it("make the server hold a bounded number of bytes in answers beyond their windows", async () => {
    const held = new HeldBytes(2_000_000)
    const started = await start({ heldBytes: held })
    const clients = await Promise.all(Array.from({ length: 10 }, () => dial(started)))
    for (const client of clients) {
      for (let id = 1; id < 20; id += 2) client.send(request(id, "/large/60000"))
      await eventually(
        () => client.isClosed || client.of(FRAME.HEADERS).length >= 10 || held.held < 1_500_000,
      )
      expect(held.held).toBeLessThanOrEqual(2_000_000)
    }
    await eventually(() => clients.some(({ isClosed }) => isClosed))
    const honest = await dial(started)
    honest.send(request(1, "/large/1000"))
    expect(await honest.answer(1)).toHaveLength(1_000)
  })

  it("get ENHANCE_YOUR_CALM when they send endless headers", async () => {
    const held = new HeldBytes(200_000)
    const started = await start({ heldBytes: held })
    const clients = await Promise.all(Array.from({ length: 8 }, () => dial(started)))
    const head = frame(FRAME.HEADERS, 0, 1, blockFor("/echo"))
    const more = frame(FRAME.CONTINUATION, 0, 1, Buffer.alloc(16_000))
    for (const client of clients) client.send(head, more, more, more, more)
    const calmed = () => clients.filter((client) => client.of(FRAME.GOAWAY).length > 0)
    await eventually(() => calmed().length >= 1)
    expect(await (calmed()[0] as RawClient).goAway()).toBe("ENHANCE_YOUR_CALM")
    expect(held.held).toBeLessThanOrEqual(200_000)
    const honest = await dial(started)
    honest.send(request(1, "/echo", 0), frame(FRAME.DATA, FLAG.END_STREAM, 1, Buffer.from("hello")))
    expect(await honest.answer(1)).toBe("hello")
  })
})
