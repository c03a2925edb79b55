import { tracingChannel } from "node:diagnostics_channel"
import { describe, expect, it } from "vitest"
import { compilePolicy } from "../../policy.js"
import { Namespace } from "../store.js"
import { ScriptedStore } from "./raw-redis-store.js"
import { redisStore } from "./redis-store.js"
import type { ScriptCommand } from "./script-command.js"

const policy = compilePolicy({ algorithm: "gcra", limit: 1, window: "1m" }, "test")
const charges = [{ namespace: new Namespace("test"), key: "key", policy, cost: 1 }]

/** An ioredis client as far as the store can tell, which writes down what it is sent and never answers. */
function silentClient(status = "ready") {
  const sent: string[] = []
  const send =
    (name: string) =>
    (...args: unknown[]): Promise<never> => {
      sent.push(`${name} ${args[0]}`)
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
    callBuffer: send("call"),
    unlink: send("unlink"),
    evalshaBuffer: send("evalsha"),
    evalBuffer: send("eval"),
  }
  return client
}

function turnOfTheLoop(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

describe("a check", () => {
  it("that is alone goes out before the event loop turns", async () => {
    const client = silentClient()
    const store = new ScriptedStore(client, { heartbeat: 0 })
    store.check(charges).catch(() => undefined)
    expect(client.sent.filter((command) => command.startsWith("evalsha"))).toEqual([])
    // All that was scheduled by this turn runs before the next one, timers and sockets included.
    await turnOfTheLoop()
    expect(client.sent.filter((command) => command.startsWith("evalsha"))).toHaveLength(1)
    await store.close()
  })

  it("waits for the first connection, and then goes out", async () => {
    const client = silentClient("connecting")
    const store = new ScriptedStore(client, { heartbeat: 0, deadline: "10s" })
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
    const store = new ScriptedStore(client, { heartbeat: 0 })
    store.check(charges).catch(() => undefined)
    await turnOfTheLoop()
    expect(client.connected).toBeGreaterThan(0)
    await store.close()
  })

  it.each(["reconnecting", "close", "end"])(
    "is not queued on a connection that is lost (%s)",
    async (status) => {
      const client = silentClient()
      const store = new ScriptedStore(client, { heartbeat: 0 })
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
  /** A client that takes commands, as a real one does. */
  function takingClient(options = {}, isCluster = false) {
    const commands: ScriptCommand[] = []
    const client = {
      ...silentClient(),
      options,
      isCluster,
      sendCommand: (command: ScriptCommand) => void commands.push(command),
    }
    return { client, commands }
  }

  async function sentBy(client: object, key = "key", cost = 1): Promise<ScriptedStore> {
    const store = new ScriptedStore(client, { heartbeat: 0 })
    store.check([{ namespace: new Namespace("test"), key, policy, cost }]).catch(() => undefined)
    await turnOfTheLoop()
    return store
  }

  it("is a command written as Redis reads it, its lengths in bytes", async () => {
    const { client, commands } = takingClient()
    const store = await sentBy(client, "größe")
    const command = commands[0] as ScriptCommand
    const [digest, count, key, text] = command.args
    expect([count, key]).toEqual(["1", "s1:test:{größe}"])
    expect(command.toWritable()).toBe(
      `*5\r\n$7\r\nevalsha\r\n$40\r\n${digest}\r\n$1\r\n1\r\n$17\r\n${key}\r\n$${text?.length}\r\n${text}\r\n`,
    )
    expect(client.sent).toEqual([])
    await store.close()
  })

  it("fails at once when the client refuses the command", async () => {
    const { client, commands } = takingClient()
    client.sendCommand = (command) => {
      commands.push(command)
      command.reject(new Error("Connection is closed."))
    }
    const store = new ScriptedStore(client, { heartbeat: 0, deadline: "10s" })
    await expect(store.check(charges)).rejects.toMatchObject({ kind: "connection" })
    expect(commands).toHaveLength(1)
    await store.close()
  })

  it.each([
    { keyPrefix: "p:" },
    { commandTimeout: 0 },
    { enableAutoPipelining: true },
    { showFriendlyErrorStack: true },
  ])("goes the way of all commands with %o", async (options) => {
    const { client, commands } = takingClient(options)
    const store = await sentBy(client)
    expect([client.sent.length, commands.length]).toEqual([1, 0])
    await store.close()
  })

  it("goes the way of all commands in a Cluster, which routes it", async () => {
    const { client, commands } = takingClient({}, true)
    const store = await sentBy(client)
    expect([client.sent.length, commands.length]).toEqual([1, 0])
    await store.close()
  })

  it("goes the way of all commands in the general form, which is not text", async () => {
    const { client, commands } = takingClient()
    const store = await sentBy(client, "key", 1_000)
    expect([client.sent.length, commands.length]).toEqual([1, 0])
    await store.close()
  })

  it("goes the way of all commands while they are traced, and only then", async () => {
    const { client, commands } = takingClient()
    const listeners = { asyncEnd: () => undefined } as never
    tracingChannel("ioredis:command").subscribe(listeners)
    const store = await sentBy(client)
    expect([client.sent.length, commands.length]).toEqual([1, 0])
    tracingChannel("ioredis:command").unsubscribe(listeners)
    store.check(charges).catch(() => undefined)
    await turnOfTheLoop()
    expect([client.sent.length, commands.length]).toEqual([1, 1])
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
  ])("%o with %s at %s", (options, code, place) => {
    expect(() => redisStore(silentClient(), options as object)).toThrow(
      expect.objectContaining({ code, place }),
    )
  })
})
