import fc from "fast-check"
import { createLimiter, memoryStore } from "sluice"
import { Namespace } from "sluice/internal"
import { redisStore } from "sluice/redis"
import { ManualClock } from "sluice/testing"
import { describe, expect, it } from "vitest"
import { startRedis } from "../../../../test/support/redis/single.js"
import { ReplyWriter } from "./reply-writer.js"
import { RequestParser } from "./request-parser.js"
import { encode, start } from "./started.test-support.js"
import { Throttle } from "./throttle.js"
import { ThrottlePolicies } from "./throttle-policy.js"

/** redis-cell's own test: burst 4, one a second. Time in ms, quantity, then the reply. */
const redisCellTrace = [
  [0, 6, [1, 5, 5, -1, 0]],
  [0, 1, [0, 5, 4, -1, 1]],
  [0, 1, [0, 5, 3, -1, 2]],
  [0, 1, [0, 5, 2, -1, 3]],
  [0, 1, [0, 5, 1, -1, 4]],
  [0, 1, [0, 5, 0, -1, 5]],
  [0, 1, [1, 5, 0, 1, 5]],
  [3_000, 1, [0, 5, 2, -1, 3]],
  [3_100, 1, [0, 5, 1, -1, 4]],
  [4_000, 1, [0, 5, 1, -1, 4]],
  [8_000, 1, [0, 5, 4, -1, 1]],
  [9_500, 1, [0, 5, 4, -1, 1]],
  [9_500, 0, [0, 5, 4, -1, 1]],
  [9_500, 2, [0, 5, 2, -1, 3]],
  [9_500, 5, [1, 5, 2, 3, 3]],
] as const

describe("CL.THROTTLE", () => {
  it("gives the replies of redis-cell's own test", async () => {
    const { core, connect } = await start()
    const client = await connect()
    const began = core.clock.now()
    for (const [ms, quantity, reply] of redisCellTrace) {
      core.clock.set(began + ms)
      expect(await client.command("CL.THROTTLE", "foo", 4, 1, 1, quantity)).toEqual(reply)
    }
  })

  it("charges 1 by default, and nothing for a quantity of 0", async () => {
    const { connect } = await start()
    const client = await connect()
    expect(await client.command("CL.THROTTLE", "user123", 15, 30, 60)).toEqual([0, 16, 15, -1, 2])
    expect(await client.command("cl.throttle", "user123", 15, 30, 60, 0)).toEqual([0, 16, 15, -1, 2])
    expect(await client.command("Cl.Throttle", "user123", "+15", 30, 60, 3)).toEqual([0, 16, 12, -1, 8])
  })

  it("keeps what a key has used when its limit changes", async () => {
    const { connect } = await start()
    const client = await connect()
    expect(await client.command("CL.THROTTLE", "k", 4, 1, 60, 5)).toEqual([0, 5, 0, -1, 300])
    expect(await client.command("CL.THROTTLE", "k", 4, 1, 30)).toEqual([1, 5, 0, 30, 150])
    expect(await client.command("CL.THROTTLE", "k", 9, 1, 60, 0)).toEqual([0, 10, 5, -1, 300])
  })

  it("counts each database separately", async () => {
    const { connect } = await start()
    const client = await connect()
    for (const database of [0, 1, 15]) {
      await client.command("SELECT", database)
      expect(await client.command("CL.THROTTLE", "k", 0, 1, 60)).toEqual([0, 1, 0, -1, 60])
      expect(await client.command("CL.THROTTLE", "k", 0, 1, 60)).toEqual([1, 1, 0, 60, 60])
    }
  })

  it("counts keys of any characters separately", async () => {
    const { connect } = await start()
    const client = await connect()
    for (const key of ["", " ", "käse", "鍵", "kase", "{a}", "a\r\nb", "🗝"]) {
      expect(await client.command("CL.THROTTLE", key, 1, 1, 60)).toEqual([0, 2, 1, -1, 60])
      expect(await client.command("CL.THROTTLE", key, 1, 1, 60)).toEqual([0, 2, 0, -1, 120])
    }
  })

  it("shares the counter of the same key elsewhere in its namespace", () => {
    const store = memoryStore({ clock: new ManualClock() })
    const asked = asking(new Throttle(store, "sluice"))
    const policy = new ThrottlePolicies().get(9, 10, 60)
    asked("CL.THROTTLE", "user", 9, 10, 60, 4)
    expect(store.checkOneSync(new Namespace("sluice:cl"), "user", policy, 0).remaining).toBe(6)
  })

  it("refuses a key that is not UTF-8", async () => {
    const { connect } = await start()
    const client = await connect({ encoding: "latin1" })
    await expect(client.command("CL.THROTTLE", "\xff\xfe", 1, 1, 60)).rejects.toThrow(
      "ERR the key must be UTF-8",
    )
  })

  it.each([
    [["k", 1, 1], /wrong number of arguments|usage: cl.throttle <key>/],
    [
      ["k", 1, 1, 60, 1, 1],
      /usage: cl.throttle <key> <max_burst> <count per period> <period> \[<quantity>\]/,
    ],
    [["k", "x", 1, 60], /ERR max_burst must be an integer, got 'x'/],
    [["k", 1, "", 60], /ERR count must be an integer, got ''/],
    [["k", 1, 1, "1.5"], /ERR period must be an integer, got '1.5'/],
    [["k", 1, 1, 60, "-"], /ERR quantity must be an integer, got '-'/],
    [["k", -1, 1, 60], /ERR max_burst must be from 0/],
    [["k", 1, 0, 60], /ERR zero rates are not supported/],
    [["k", 1, 1, 60, -1], /ERR quantity must be from 0/],
    [["k", "1099511627776", 7, 86_400], /^POLICY_TOO_LARGE /],
  ])("reports the mistake in %j, and decides nothing", async (args, message) => {
    const { core, connect } = await start()
    const client = await connect()
    await expect(client.command("CL.THROTTLE", ...args)).rejects.toThrow(message)
    expect((core.store as ReturnType<typeof memoryStore>).stats.keys).toBe(0)
  })

  it("decides as a gcra limiter does for any commands at any time", () => {
    const question = fc.record({
      wait: fc.integer({ min: 0, max: 5_000 }),
      key: fc.constantFrom("a", "b", "é"),
      cost: fc.integer({ min: 0, max: 6 }),
    })
    const limits = fc.record({
      maxBurst: fc.integer({ min: 0, max: 9 }),
      count: fc.integer({ min: 1, max: 20 }),
      period: fc.integer({ min: 1, max: 20 }),
    })
    fc.assert(
      fc.property(limits, fc.array(question, { maxLength: 40 }), ({ maxBurst, count, period }, questions) => {
        const clock = new ManualClock()
        const limiter = createLimiter({
          algorithm: "gcra",
          limit: count,
          window: `${period}s`,
          maxBurst,
          clock,
        })
        const asked = asking(new Throttle(memoryStore({ clock }), "test"))
        for (const { wait, key, cost } of questions) {
          clock.advance(wait)
          const decision = limiter.checkSync(key, { cost })
          const { allowed, limit, remaining, retryAfterMs, resetAfterMs } = decision
          const retry =
            allowed || retryAfterMs === Number.POSITIVE_INFINITY ? -1 : Math.ceil(retryAfterMs / 1000)
          expect(asked("CL.THROTTLE", key, maxBurst, count, period, cost)).toBe(
            `*5\r\n:${allowed ? 0 : 1}\r\n:${limit}\r\n:${remaining}\r\n:${retry}\r\n:${Math.ceil(resetAfterMs / 1000)}\r\n`,
          )
        }
      }),
    )
  })
})

describe("CL.THROTTLE on Redis", () => {
  it("answers a pipeline in order, as it would in memory", async () => {
    const redis = await startRedis()
    const { createClient } = await import("redis")
    const client = await createClient({ url: redis.url }).connect()
    const store = redisStore(client, { time: "client", clock: new ManualClock() })
    try {
      const { open } = await start({}, { store })
      const raw = await open()
      const ask = encode("CL.THROTTLE", "k", 1, 1, 60)
      raw.send(
        ask + encode("PING") + ask + encode("ECHO", "between") + ask + encode("CL.THROTTLE") + encode("QUIT"),
      )
      expect(await raw.last()).toBe(
        "*5\r\n:0\r\n:2\r\n:1\r\n:-1\r\n:60\r\n+PONG\r\n*5\r\n:0\r\n:2\r\n:0\r\n:-1\r\n:120\r\n$7\r\nbetween\r\n" +
          "*5\r\n:1\r\n:2\r\n:0\r\n:60\r\n:120\r\n" +
          "-ERR usage: cl.throttle <key> <max_burst> <count per period> <period> [<quantity>]\r\n+OK\r\n",
      )
      expect((await redis.cli("KEYS", "*")) as string[]).toContain("s1::cl:{k}")
    } finally {
      await store.close()
      client.destroy()
      await redis.stop()
    }
  })
})

describe("metrics", () => {
  it("count what was allowed and denied, without quantities of 0", async () => {
    const clock = new ManualClock()
    const { connect, counted } = await start({ clock })
    const client = await connect()
    for (let n = 0; n < 5; n++) await client.command("CL.THROTTLE", "k", 1, 1, 60)
    await client.command("CL.THROTTLE", "k", 1, 1, 60, 0)
    clock.advance(1_000)
    clock.advance(1_000)
    expect(counted).toEqual([{ protocol: "resp", allowed: 2, denied: 3, degraded: 0 }])
  })
})

/** Asks without a socket, as a connection does. */
function asking(throttle: Throttle): (...args: readonly (string | number)[]) => string {
  const parser = new RequestParser({ arguments: 8, bytes: 1_000 })
  const reply = new ReplyWriter()
  return (...args) => {
    reply.clear(false)
    const text = args.map((arg) => `$${Buffer.byteLength(String(arg))}\r\n${arg}\r\n`).join("")
    const bytes = Buffer.from(`*${args.length}\r\n${text}`)
    parser.parse(bytes, 0)
    void throttle.run(parser, 0, reply)
    return reply.written().toString()
  }
}
