import { createLimiter } from "sluice"
import { redisStore } from "sluice/redis"
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest"
import { PATIENT } from "./contract.js"
import { callsOf, forgetCalls, useRedis } from "./one-server.js"

const redis = useRedis()
let prefixes = 0

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["performance"] })
})
afterEach(() => {
  vi.useRealTimers()
})

/** Two instances on one server that share a limit of 2 per hour, the first with a deny cache; both are used up. */
async function open(denyCache: boolean | string = true) {
  const limit = { prefix: `deny${prefixes++}`, algorithm: "fixed-window", limit: 2, window: "1d" } as const
  const [one, other] = [await redis.client(), await redis.client()].map(({ client }, i) => {
    const own = i === 0 ? { denyCache } : {}
    return createLimiter({
      ...limit,
      store: redis.later(redisStore(client, { ...PATIENT, heartbeat: 0, ...own })),
    })
  }) as [ReturnType<typeof createLimiter>, ReturnType<typeof createLimiter>]
  await one.check("user", { cost: 2 })
  await forgetCalls(redis.server)
  return { one, other, calls: () => callsOf(redis.server, "evalsha") }
}

describe("a denied key", () => {
  it("is sent to Redis once, then answered locally, with waits that count down", async () => {
    const { one, calls } = await open()
    const first = await one.check("user")
    expect(first).toMatchObject({ allowed: false, remaining: 0, degraded: undefined })
    vi.advanceTimersByTime(400)
    const second = await one.check("user")
    expect(second).toMatchObject({ allowed: false, remaining: 0, degraded: undefined })
    expect(first.retryAfterMs - second.retryAfterMs).toBeCloseTo(400, 3)
    expect(second.resetAt).toBe(first.resetAt)
    expect(await calls()).toBe(1)
  })

  it("is sent to Redis again after a second", async () => {
    const { one, calls } = await open()
    await one.check("user")
    vi.advanceTimersByTime(999)
    await one.check("user")
    expect(await calls()).toBe(1)
    vi.advanceTimersByTime(1)
    await one.check("user")
    expect(await calls()).toBe(2)
  })

  it("is sent to Redis again after the given time", async () => {
    const { one, calls } = await open("5s")
    await one.check("user")
    vi.advanceTimersByTime(4_999)
    await one.check("user")
    expect(await calls()).toBe(1)
    vi.advanceTimersByTime(1)
    await one.check("user")
    expect(await calls()).toBe(2)
  })

  it("stays denied locally for at most the given time when another instance resets it", async () => {
    const { one, other } = await open()
    await one.check("user")
    await other.reset("user")
    expect((await one.check("user")).allowed).toBe(false)
    vi.advanceTimersByTime(1_000)
    expect((await one.check("user")).allowed).toBe(true)
  })

  it.each(["refund", "reset"] as const)("is sent to Redis again after a local %s", async (call) => {
    const { one } = await open()
    expect((await one.check("user")).allowed).toBe(false)
    await one[call]("user")
    expect((await one.check("user")).allowed).toBe(true)
  })

  it.each(["refund", "reset"] as const)(
    "is not cached by a check that was sent before a %s",
    async (call) => {
      const { one } = await open()
      const [denied] = await Promise.all([one.check("user"), one[call]("user")])
      if (!denied.allowed) expect((await one.check("user")).allowed).toBe(true)
    },
  )

  it("is not taken for denied under another limit or at another cost", async () => {
    const { one } = await open()
    expect((await one.check("user")).allowed).toBe(false)
    expect((await one.check("user", { cost: 0 })).allowed).toBe(true)
    expect((await one.check("user", { limit: 5 })).allowed).toBe(true)
  })

  it("is sent to Redis when the call has its own time", async () => {
    const { one } = await open()
    const { resetAt } = await one.check("user")
    expect((await one.check("user", { at: resetAt })).allowed).toBe(true)
  })

  it("is answered locally in a list of checks, too", async () => {
    const { one, calls } = await open()
    await one.check("user")
    const decisions = await one.checkMany([{ key: "user" }, { key: "user" }])
    expect(decisions.map(({ allowed }) => allowed)).toEqual([false, false])
    expect(await calls()).toBe(1)
  })
})

it("an allowed key is sent to Redis every time", async () => {
  const { one, calls } = await open()
  expect((await one.check("fresh")).allowed).toBe(true)
  expect((await one.check("fresh")).allowed).toBe(true)
  expect((await one.check("fresh")).allowed).toBe(false)
  expect(await calls()).toBe(3)
})

it("a key is denied for no longer than its retry time", async () => {
  const { client } = await redis.client()
  const store = redis.later(redisStore(client, { ...PATIENT, heartbeat: 0, denyCache: "1h" }))
  const limiter = createLimiter({
    store,
    prefix: `deny${prefixes++}`,
    algorithm: "token-bucket",
    limit: 1_000,
    burst: 1,
    window: "200s",
  })
  await limiter.check("user")
  const { allowed, retryAfterMs } = await limiter.check("user")
  expect(allowed).toBe(false)
  // The server's real clock has passed the retry time when it answers the next call.
  await vi.waitFor(async () => expect(await limiter.peek("user")).toMatchObject({ remaining: 1 }), {
    interval: 5,
  })
  vi.advanceTimersByTime(Math.ceil(retryAfterMs))
  expect((await limiter.check("user")).allowed).toBe(true)
})

it("nothing is cached without the option", async () => {
  const { one, calls } = await open(false)
  for (let i = 0; i < 3; i++) await one.check("user")
  expect(await calls()).toBe(3)
})
