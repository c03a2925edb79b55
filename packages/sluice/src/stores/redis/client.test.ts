import { describe, expect, it } from "vitest"
import { compilePolicy } from "../../policy.js"
import { Namespace } from "../store.js"
import { RawRedisStore, redisStore } from "./redis-store.js"

const policy = compilePolicy({ algorithm: "gcra", limit: 1, window: "1m" }, "test")
const charges = [{ namespace: new Namespace("test"), key: "key", policy, cost: 1 }]

/** An ioredis client as far as the store can tell, which writes down what it is sent and never answers. */
function silentClient(status = "ready") {
  const sent: string[] = []
  const send =
    (name: string) =>
    (...args: unknown[]): Promise<unknown> => {
      sent.push([name, ...args].join(" ").trim())
      return new Promise(() => undefined)
    }
  const listeners = new Map<string, () => void>()
  const client = {
    status,
    sent,
    connected: 0,
    once: (event: string, listener: () => void) => listeners.set(event, listener),
    emit: (event: string) => listeners.get(event)?.(),
    async connect() {
      client.connected++
    },
    callBuffer: send(""),
    evalBuffer: send("eval"),
    evalshaBuffer: send("evalsha"),
    unlink: send("unlink"),
  }
  return client
}

function turnOfTheLoop(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

describe("a check", () => {
  it("that is alone is sent before the next turn of the event loop", async () => {
    const client = silentClient()
    const store = new RawRedisStore(client, { heartbeat: 0 })
    store.check(charges).catch(() => undefined)
    expect(client.sent.filter((command) => command.startsWith("evalsha"))).toEqual([])
    // All that was scheduled by this turn runs before the next one, timers and sockets included.
    await turnOfTheLoop()
    expect(client.sent.filter((command) => command.startsWith("evalsha"))).toHaveLength(1)
    await store.close()
  })

  it("waits for the first connection, and is then sent", async () => {
    const client = silentClient("connecting")
    const store = new RawRedisStore(client, { heartbeat: 0, deadline: "10s" })
    store.check(charges).catch(() => undefined)
    await turnOfTheLoop()
    expect(client.sent).toEqual([])
    client.status = "ready"
    client.emit("ready")
    await turnOfTheLoop()
    expect(client.sent.filter((command) => command.startsWith("evalsha"))).toHaveLength(1)
    await store.close()
  })

  it("starts a client that waits for its first command", async () => {
    const client = silentClient("wait")
    const store = new RawRedisStore(client, { heartbeat: 0 })
    store.check(charges).catch(() => undefined)
    await turnOfTheLoop()
    expect(client.connected).toBeGreaterThan(0)
    await store.close()
  })

  it.each(["reconnecting", "close", "end"])(
    "is not queued on a connection that is lost (%s)",
    async (status) => {
      const client = silentClient()
      const store = new RawRedisStore(client, { heartbeat: 0 })
      store.check(charges).catch(() => undefined)
      await turnOfTheLoop()
      client.status = status
      client.sent.length = 0
      await expect(store.check(charges)).rejects.toMatchObject({ kind: "connection", ambiguous: false })
      expect(client.sent).toEqual([])
      await store.close()
    },
  )
})

describe("a check by ioredis", () => {
  it("is sent by evalshaBuffer, its keys first and the checks as a JSON array of numbers", async () => {
    const client = { ...silentClient(), calls: [] as unknown[][] }
    client.evalshaBuffer = (...args) => {
      client.calls.push(args)
      return new Promise(() => undefined)
    }
    const store = new RawRedisStore(client, { heartbeat: 0 })
    store.check([{ namespace: new Namespace("test"), key: "größe", policy, cost: 1 }]).catch(() => undefined)
    await turnOfTheLoop()
    expect(client.calls).toEqual([
      [
        expect.stringMatching(/^[0-9a-f]{40}$/),
        "1",
        "s1:test:{größe}",
        expect.stringMatching(/^\[[\d,-]+\]$/),
      ],
    ])
    await store.close()
  })

  it("fails at once when the client refuses the command", async () => {
    const client = silentClient()
    client.evalshaBuffer = () => Promise.reject(new Error("Connection is closed."))
    const store = new RawRedisStore(client, { heartbeat: 0, deadline: "10s" })
    await expect(store.check(charges)).rejects.toMatchObject({ kind: "connection" })
    await store.close()
  })

  it("fails at once when the client throws", async () => {
    const client = silentClient()
    client.evalshaBuffer = () => {
      throw new Error("Connection is closed.")
    }
    const store = new RawRedisStore(client, { heartbeat: 0, deadline: "10s" })
    await expect(store.check(charges)).rejects.toMatchObject({ kind: "connection" })
    await store.close()
  })
})

describe("redisStore refuses", () => {
  it.each([[undefined], [null], ["redis://localhost"], [{}], [{ get() {}, set() {} }], [new Map()]])(
    "%o for a client",
    (client) => {
      expect(() => redisStore(client as object)).toThrow(
        expect.objectContaining({ code: "OPTION_TYPE", place: "redisStore" }),
      )
    },
  )

  it.each([
    [{ deadlineMs: 5 }, "OPTION_UNKNOWN", "redisStore.deadlineMs"],
    [{ deadline: "soon" }, "DURATION_INVALID", "redisStore.deadline"],
    [{ expiryBuffer: -1 }, "DURATION_INVALID", "redisStore.expiryBuffer"],
    [{ minExpiry: Number.NaN }, "DURATION_INVALID", "redisStore.minExpiry"],
    [{ heartbeat: "1 parsec" }, "DURATION_INVALID", "redisStore.heartbeat"],
    [{ denyCache: "long" }, "DURATION_INVALID", "redisStore.denyCache"],
    [{ time: "server" }, "OPTION_TYPE", "redisStore.time"],
    [{ clock: 5 }, "OPTION_TYPE", "redisStore.clock"],
    [{ onFailure: "log" }, "OPTION_TYPE", "redisStore.onFailure"],
    [{ breaker: 3 }, "OPTION_TYPE", "redisStore.breaker"],
    [{ breaker: { failure: 3 } }, "OPTION_UNKNOWN", "redisStore.breaker.failure"],
    [{ breaker: { failures: 0 } }, "OPTION_TYPE", "redisStore.breaker.failures"],
    [{ breaker: { failureRate: 50 } }, "OPTION_TYPE", "redisStore.breaker.failureRate"],
    [{ breaker: { probeEvery: "often" } }, "DURATION_INVALID", "redisStore.breaker.probeEvery"],
  ])("%o with %s at %s", (options, code, place) => {
    expect(() => redisStore(silentClient(), options as object)).toThrow(
      expect.objectContaining({ code, place }),
    )
  })
})

it("asks node-redis 4 for Buffers with each command, because it has no type mapping", async () => {
  const sent: unknown[][] = []
  const client = {
    isOpen: true,
    isReady: true,
    async connect() {},
    once: () => undefined,
    sendCommand(...args: unknown[]) {
      sent.push(args)
      return new Promise(() => undefined)
    },
  }
  const store = new RawRedisStore(client, { heartbeat: 0 })
  store.check(charges).catch(() => undefined)
  await turnOfTheLoop()
  expect(sent.map(([, options]) => options)).toContainEqual({ returnBuffers: true })
  await store.close()
})

describe("a client of node-redis", () => {
  function connectingClient() {
    const listeners = new Map<string, () => void>()
    const client = {
      isOpen: true,
      isReady: false,
      sent: 0,
      async connect() {},
      once: (event: string, listener: () => void) => listeners.set(event, listener),
      emit: (event: string) => listeners.get(event)?.(),
      withTypeMapping: () => client,
      sendCommand() {
        client.sent++
        return new Promise(() => undefined)
      },
    }
    return client
  }

  it("that connects for the first time holds checks until it is ready", async () => {
    const client = connectingClient()
    const store = new RawRedisStore(client, { heartbeat: 0, deadline: "10s" })
    store.check(charges).catch(() => undefined)
    await turnOfTheLoop()
    expect(client.sent).toBe(0)
    client.isReady = true
    client.emit("ready")
    await turnOfTheLoop()
    expect(client.sent).toBe(1)
    await store.close()
  })

  it.each(["connected before", "tried before"])(
    "that %s holds no checks while it connects again",
    async (way) => {
      const client = connectingClient()
      client.isReady = way === "connected before"
      const store = new RawRedisStore(client, { heartbeat: 0, deadline: "10s" })
      store.check(charges).catch(() => undefined)
      await turnOfTheLoop()
      client.isReady = false
      client.emit("reconnecting")
      await expect(store.check(charges)).rejects.toMatchObject({ kind: "connection", ambiguous: false })
      await store.close()
    },
  )
})
