import { memoryStore, type Store } from "sluice"
import { ManualClock } from "sluice/testing"
import { expect, it } from "vitest"
import { eventually } from "../../../../test/support/eventually.js"
import { HeldBytes } from "../held-bytes.js"
import { encode, type RawClient, start } from "./started.test-support.js"

const ask = (key: string) => encode("CL.THROTTLE", key, 4, 5, 60)
const FIRST = "*5\r\n:0\r\n:5\r\n:4\r\n:-1\r\n:12\r\n"

/** A memory store that only answers with promises, as Redis does. */
function remoteStore(): Store {
  const store = memoryStore({ clock: new ManualClock() })
  return {
    check: async (charges, at) => store.check(charges, at),
    decide: (charges, at) => store.decide(charges, at),
    checkMany: (checks) => store.checkMany(checks),
    charge: (charges, at) => store.charge(charges, at),
    refund: (charges, at) => store.refund(charges, at),
    settle: (settlements, at) => store.settle(settlements, at),
    reset: (charges) => store.reset(charges),
    mayBlock: (namespace) => store.mayBlock(namespace),
    close: () => store.close(),
  }
}

/** Until a client that sends, and takes no reply, is not read from any more. */
async function standstill(lazy: RawClient, other: RawClient): Promise<void> {
  let unsent = 0
  for (let same = 0; same < 40; same++) {
    if (lazy.socket.writableLength !== unsent) same = 0
    unsent = lazy.socket.writableLength
    other.send(encode("PING"))
    await other.gets("+PONG\r\n")
  }
}

it("of commands that wait for the store are held up to a limit, and all arrive in the end", async () => {
  const held = new HeldBytes()
  const { open } = await start({ heldBytes: held }, { store: remoteStore() })
  const [lazy, other] = [await open(), await open()]
  lazy.socket.pause()
  const many = 2_500
  const echo = "x".repeat(10_000)
  for (let i = 0; i < many; i++) lazy.send(ask(`key:${i}`) + encode("ECHO", echo))
  await standstill(lazy, other)
  expect(lazy.socket.writableLength).toBeGreaterThan(1_000_000)
  expect(held.held).toBeGreaterThan(500_000)
  expect(held.held).toBeLessThan(2_500_000)
  lazy.socket.resume()
  const replies = `${FIRST}$10000\r\n${echo}\r\n`.repeat(many)
  await eventually(() => lazy.received.length >= replies.length, { within: 20_000 })
  expect(lazy.received === replies).toBe(true)
  expect(held.held).toBe(0)
}, 40_000)

it("end the connection after a time, although every command was complete and idle clients have no limit", async () => {
  const clock = new ManualClock()
  const held = new HeldBytes()
  const { open } = await start({ clock, idleMs: 0, slowMs: 10_000, heldBytes: held })
  const [lazy, other] = [await open(), await open()]
  lazy.socket.pause()
  const command = encode("ECHO", "x".repeat(50_000))
  for (let sent = 0; held.held === 0 && sent < 1_000; sent++) {
    lazy.send(command)
    await eventually(() => lazy.socket.writableLength === 0)
    other.send(encode("PING"))
    await other.gets("+PONG\r\n")
  }
  expect(held.held).toBeGreaterThan(0)
  for (let second = 0; second < 10; second++) clock.advance(1_000)
  expect(held.held).toBeGreaterThan(0)
  clock.advance(1_000)
  await eventually(() => held.held === 0)
  lazy.socket.resume()
  await eventually(() => lazy.isClosed)
})

it("of all clients together are limited: the client that exceeds the limit is disconnected", async () => {
  const held = new HeldBytes(1_500_000)
  const { open } = await start({ heldBytes: held })
  const other = await open()
  const command = encode("ECHO", "x".repeat(50_000))
  const clients = await Promise.all(Array.from({ length: 4 }, open))
  for (const client of clients) {
    client.socket.pause()
    for (let i = 0; i < 400; i++) client.send(command)
    await standstill(client, other)
    expect(held.held).toBeLessThan(2_600_000)
  }
  for (const client of clients) client.socket.resume()
  await eventually(() => clients.filter(({ isClosed }) => isClosed).length >= 2)
  for (const client of clients) client.socket.destroy()
  await eventually(() => held.held === 0)
}, 40_000)
