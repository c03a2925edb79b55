import fc from "fast-check"
import { memoryStore, type Store } from "sluice"
import { ManualClock } from "sluice/testing"
import { describe, expect, it } from "vitest"
import { eventually } from "../../../../test/support/eventually.js"
import { encode, type RawClient, start } from "./started.test-support.js"

const ask = (key: string) => encode("CL.THROTTLE", key, 1, 1, 60)
const FIRST = "*5\r\n:0\r\n:2\r\n:1\r\n:-1\r\n:60\r\n"

describe("commands", () => {
  it("get the same replies wherever they are split", async () => {
    const { open } = await start()
    let keys = 0
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat({ max: 250 }), { maxLength: 12 }), async (cuts) => {
        const client = await open()
        const bytes = `${encode("PING")}${ask(`key:${keys++}`)}ECHO "a b"\r\n${encode("ECHO", "\r\n$1\r\n")}*0\r\n${ask(`é${keys}`.normalize())}${encode("QUIT")}`
        const places = [...new Set(cuts.map((cut) => cut % bytes.length))].sort((a, b) => a - b)
        let from = 0
        for (const place of [...places, bytes.length]) {
          client.send(bytes.slice(from, place))
          from = place
          // A turn of the event loop for the server to read what came so far.
          await new Promise(setImmediate)
        }
        const said = await client.last()
        expect(said).toBe(
          `+PONG\r\n${FIRST}$3\r\na b\r\n$6\r\n\r\n$1\r\n\r\n-ERR the key must be UTF-8\r\n+OK\r\n`,
        )
      }),
      { numRuns: 60 },
    )
  })

  it("are answered one byte at a time", async () => {
    const { open } = await start()
    const client = await open()
    for (const byte of ask("slow") + encode("PING")) {
      client.send(byte)
      await new Promise(setImmediate)
    }
    await client.gets(`${FIRST}+PONG\r\n`)
  })

  it("of several clients that arrive in halves are not mixed up", async () => {
    const { open } = await start()
    const clients = await Promise.all(["a", "bb", "ccc"].map(async (key) => ({ key, client: await open() })))
    for (const part of [0, 1, 2]) {
      for (const { key, client } of clients) {
        const text = ask(key) + encode("ECHO", `${key}!`)
        client.send(text.slice(part * 15, part === 2 ? undefined : (part + 1) * 15))
        await new Promise(setImmediate)
      }
    }
    for (const { key, client } of clients) await client.gets(`${FIRST}$${key.length + 1}\r\n${key}!\r\n`)
  })

  it("are answered in order, however many come at once", async () => {
    const { open } = await start()
    const client = await open()
    const many = 20_000
    client.send(Array.from({ length: many }, (_, i) => encode("ECHO", i)).join(""))
    await client.gets(Array.from({ length: many }, (_, i) => `$${String(i).length}\r\n${i}\r\n`).join(""))
  })

  it("in a long pipeline let other clients in between", async () => {
    const { open } = await start({}, { store: busyStore() })
    const [long, other] = [await open(), await open()]
    const many = 1_000
    long.send(Array.from({ length: many }, (_, i) => ask(`key:${i}`)).join(""))
    other.send(encode("PING"))
    await other.gets("+PONG\r\n")
    expect(long.received.length).toBeLessThan(FIRST.length * many)
    await long.gets(FIRST.repeat(many))
  })

  it("of a client that has closed its side are still answered", async () => {
    const { open } = await start({}, { store: slowStore() })
    const client = await open()
    client.socket.end(Buffer.from(ask("k") + encode("PING")))
    expect(await client.last()).toBe(`${FIRST}+PONG\r\n`)
  })

  it("after QUIT are ignored", async () => {
    const { open } = await start()
    const client = await open()
    client.send(encode("QUIT") + encode("PING"))
    expect(await client.last()).toBe("+OK\r\n")
  })
})

describe("a connection is closed", () => {
  it.each([
    ["*1\r\n:1\r\n", "-ERR Protocol error: expected '$', got ':'\r\n"],
    ["*1\r\n$65537\r\n", "-ERR Protocol error: invalid bulk length\r\n"],
    ["*1025\r\n", "-ERR Protocol error: invalid multibulk length\r\n"],
    ["x".repeat(65_537), "-ERR Protocol error: too big inline request\r\n"],
    [
      `${encode("PING")}*x\r\n${encode("PING")}`,
      "+PONG\r\n-ERR Protocol error: invalid multibulk length\r\n",
    ],
  ])("after %j", async (text, said) => {
    const { open } = await start()
    const client = await open()
    client.send(text)
    expect(await client.last()).toBe(said)
  })

  it("silently when a browser was tricked into opening it", async () => {
    const { open } = await start()
    for (const text of [
      "POST / HTTP/1.1\r\nHost: a\r\n\r\nPING\r\n",
      "GET / HTTP/1.1\r\nHost: a\r\n\r\nPING\r\n",
    ]) {
      const client = await open()
      client.send(text)
      expect(await client.last()).not.toContain("PONG")
    }
  })

  it("when there are too many, and not when one has gone", async () => {
    const { open, core } = await start({ maxConnections: 1 })
    const first = await open()
    const second = await open()
    expect(await second.last()).toBe("-ERR max number of clients reached\r\n")
    first.socket.destroy()
    await eventually(async () => {
      const next = await open()
      next.send(encode("PING"))
      await eventually(() => next.received !== "" || next.isClosed)
      return next.received === "+PONG\r\n"
    })
    expect(core.decided).toEqual([])
  })

  it("when it is idle for too long", async () => {
    const clock = new ManualClock()
    const { open } = await start({ clock, idleMs: 60_000 })
    const [quiet, busy] = [await open(), await open()]
    for (const client of [quiet, busy]) await pong(client)
    clock.advance(59_000)
    await pong(busy)
    clock.advance(1_000)
    await quiet.last()
    await pong(busy)
  })

  it("when a command stays incomplete, even if a byte arrives now and then", async () => {
    const clock = new ManualClock()
    const { open } = await start({ clock, slowMs: 10_000 })
    const [slow, whole] = [await open(), await open()]
    slow.send(encode("PING") + encode("ECHO", "abcdefgh").slice(0, -8))
    await slow.gets("+PONG\r\n")
    for (let second = 0; second < 9; second++) {
      clock.advance(1_000)
      await pong(whole)
      if (second < 5) slow.send("x")
    }
    expect(slow.isClosed).toBe(false)
    clock.advance(1_000)
    expect(await slow.last()).toBe("")
    await pong(whole)
  })

  it("when the client does not log in", async () => {
    const clock = new ManualClock()
    const { open } = await start({ clock, password: "secret", loginMs: 30_000 })
    const [stranger, friend] = [await open(), await open()]
    friend.send(encode("AUTH", "secret"))
    await friend.gets("+OK\r\n")
    for (let second = 0; second < 30; second++) {
      stranger.send(encode("PING"))
      await stranger.gets("-NOAUTH Authentication required.\r\n")
      clock.advance(1_000)
    }
    await stranger.last()
    await pong(friend)
  })
})

describe("a client that does not read its replies", () => {
  it("is paused, does not hold up others, and receives all replies in the end", async () => {
    const { open } = await start()
    const lazy = await open()
    const other = await open()
    lazy.socket.pause()
    const many = 2_000
    const text = (n: number) => String(n % 10).repeat(10_000)
    for (let n = 0; n < many; n++) lazy.send(encode("ECHO", text(n)))
    let unsent = 0
    for (let same = 0; same < 100; same++) {
      if (lazy.socket.writableLength !== unsent) same = 0
      unsent = lazy.socket.writableLength
      await pong(other)
    }
    expect(lazy.socket.writableLength).toBeGreaterThan(1_000_000)
    // Replies to others must not end up where the untaken ones are.
    const loud = encode("ECHO", "x".repeat(15_000))
    other.send(loud)
    await other.gets(loud.slice(loud.indexOf("$15000")))
    lazy.socket.resume()
    const replies = Array.from({ length: many }, (_, n) => `$10000\r\n${text(n)}\r\n`).join("")
    await eventually(() => lazy.received.length >= replies.length, { within: 20_000 })
    expect(lazy.received === replies).toBe(true)
  }, 30_000)

  it("is disconnected when it never reads them", async () => {
    const clock = new ManualClock()
    const { open } = await start({ clock })
    const lazy = await open()
    const other = await open()
    lazy.socket.pause()
    const command = encode("ECHO", "x".repeat(50_000))
    for (let n = 0; n < 1_000; n++) lazy.send(command)
    await eventually(() => lazy.socket.writableLength > 1_000_000)
    await pong(other)
    clock.advance(30_000)
    await eventually(() => lazy.socket.destroyed || lazy.isClosed || !lazy.socket.writable, {
      what: "it is cut",
    })
    await pong(other)
  })
})

describe("an asynchronous store", () => {
  it("answers many commands at once, in order", async () => {
    const { open } = await start({}, { store: slowStore() })
    const client = await open()
    const many = 5_000
    client.send(Array.from({ length: many }, (_, i) => ask(`key:${i}`) + encode("ECHO", i)).join(""))
    await client.gets(
      Array.from({ length: many }, (_, i) => `${FIRST}$${String(i).length}\r\n${i}\r\n`).join(""),
    )
  })

  it("that fails causes an error for that command only", async () => {
    const errors: unknown[] = []
    const store: Store = { ...slowStore(), check: () => Promise.reject(new Error("the store is broken")) }
    const { open } = await start({ onError: (error) => errors.push(error) }, { store })
    const client = await open()
    client.send(ask("k") + encode("PING") + ask("k"))
    await client.gets("-ERR internal error\r\n+PONG\r\n-ERR internal error\r\n")
    expect(errors).toHaveLength(2)
  })
})

describe("closing", () => {
  it("answers earlier commands, then closes every connection", async () => {
    const { open, listener } = await start({}, { store: slowStore() })
    const [busy, idle] = [await open(), await open()]
    await pong(idle)
    await pong(busy)
    const closing = listener.close(5_000)
    busy.send(ask("k"))
    await closing
    expect(await busy.last()).toBe(FIRST)
    expect(await idle.last()).toBe("")
  })

  it("closes the remaining connections at the deadline, and may be called twice", async () => {
    const never: Store = { ...slowStore(), check: () => new Promise(() => {}) }
    const { open, listener } = await start({}, { store: never })
    const client = await open()
    client.send(encode("PING") + ask("k"))
    await client.gets("+PONG\r\n")
    await Promise.all([listener.close(20), listener.close(20)])
    expect(await client.last()).toBe("")
  })
})

async function pong(client: RawClient): Promise<void> {
  client.send(encode("PING"))
  await client.gets("+PONG\r\n")
}

/** A memory store that only answers with promises, as one on the network does. */
function slowStore(): Store {
  const store = memoryStore({ clock: new ManualClock() })
  return {
    check: async (charges, at) => {
      await new Promise(setImmediate)
      return store.check(charges, at)
    },
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

/** A store that takes 0.2 ms for every check. */
function busyStore(): Store {
  const store = memoryStore({ clock: new ManualClock() })
  const check = store.checkBytesSync.bind(store)
  store.checkBytesSync = (...args) => {
    const end = performance.now() + 0.2
    while (performance.now() < end);
    return check(...args)
  }
  return store
}
