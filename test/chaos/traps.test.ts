import { Redis } from "ioredis"
import { createLimiter, type Limiter } from "sluice"
import { connectRedis, type RedisStore, redisStore, type StoreFailureEvent } from "sluice/redis"
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import { eventually } from "../support/eventually.js"
import { type Bed, openBed } from "./bed.js"
import { expectNoUnhandledRejections } from "./rejections.js"
import { type Subject, underLoad, worstOf } from "./subject.js"

expectNoUnhandledRejections()

const LIMIT = 10

let bed: Bed
let store: RedisStore
let limiter: Limiter
let failures: StoreFailureEvent[]

beforeEach(async () => {
  bed = await openBed()
  failures = []
})
afterEach(async () => {
  await store?.close()
  await bed.stop()
})

async function open(url: string, deadline: string): Promise<void> {
  store = (await connectRedis(url, {
    deadline,
    onFailure: (event) => void failures.push(event),
  })) as RedisStore
  limiter = createLimiter({ store, limit: LIMIT, window: "1m" })
  await eventually(async () => (await limiter.peek("anyone")).degraded === undefined, {
    what: "Redis is found",
  })
  failures.length = 0
}

/** What Redis has counted for a key, read directly and not through the proxy or the store. */
async function counted(key: string): Promise<number> {
  const witness = await connectRedis(bed.redis.url, { deadline: "5s", heartbeat: 0 })
  try {
    const peek = await createLimiter({ store: witness, limit: LIMIT, window: "1m" }).peek(key)
    expect(peek.degraded).toBeUndefined()
    return LIMIT - peek.remaining
  } finally {
    await witness.close()
  }
}

async function callsOf({ redis }: Bed): Promise<number> {
  const stats = String(await redis.cli("INFO", "commandstats"))
  const calls = [...stats.matchAll(/^cmdstat_(?:evalsha|eval):calls=(\d+)/gm)]
  return calls.reduce((sum, [, count]) => sum + Number(count), 0)
}

describe("a lost answer is ambiguous", () => {
  it("is counted as such, and the call is not repeated", async () => {
    await open(bed.proxy.url, "60ms")
    const { ambiguous } = store.stats
    bed.proxy.dropReplies()
    const lost = await Promise.all(["a", "b"].map((key) => limiter.check(key)))
    expect(lost.map(({ degraded, allowed }) => [degraded, allowed])).toEqual([
      ["local", true],
      ["local", true],
    ])
    expect(store.stats.ambiguous - ambiguous).toBe(2)
    await bed.proxy.pass()
    await eventually(async () => (await limiter.peek("anyone")).degraded === undefined, {
      what: "Redis is back",
    })
    // Redis ran it once, although the answer was lost.
    expect([await counted("a"), await counted("b")]).toEqual([1, 1])
  })

  it("a call that was only delayed runs once, when it arrives", async () => {
    await open(bed.proxy.url, "60ms")
    const { ambiguous } = store.stats
    bed.proxy.setFlow({ requests: { kind: "hold" } })
    expect((await limiter.check("late")).degraded).toBe("local")
    expect(store.stats.ambiguous - ambiguous).toBe(1)
    await bed.proxy.pass()
    await eventually(async () => (await limiter.peek("late")).degraded === undefined, {
      what: "Redis is back",
    })
    expect(await counted("late")).toBe(1)
  })
})

describe("a slow server", () => {
  it("that answers within the deadline gets every check", async () => {
    await open(bed.proxy.url, "2s")
    bed.proxy.delay(5, 20)
    const decisions = await Promise.all(Array.from({ length: 20 }, () => limiter.check("slow")))
    expect(decisions.map(({ degraded }) => degraded)).toEqual(Array.from({ length: 20 }, () => undefined))
    expect(decisions.filter(({ allowed }) => allowed)).toHaveLength(LIMIT)
  })

  it("gets no more calls than a healthy one", { timeout: 30_000 }, async () => {
    const subject = await underLoad(bed.proxy.url, {}, { deadline: "50ms" })
    await subject.shared()
    const [callsBefore, checksBefore] = [await callsOf(bed), subject.load.samples.length]
    bed.proxy.delay(150, 100)
    await eventually(() => subject.store.breakers.includes("open"), { every: 1, what: "the breaker opens" })
    await eventually(() => subject.load.samples.length - checksBefore > 300, { what: "the load goes on" })
    const calls = (await callsOf(bed)) - callsBefore
    const checks = subject.load.samples.length - checksBefore
    await bed.proxy.pass()
    await subject.shared()
    await subject.sound()
    await subject.close()
    // A healthy server gets up to one call per check. Here it is the first few, and probes.
    expect(calls).toBeLessThan(0.5 * checks)
  })
})

it("does not mistake a pause of our own event loop for a slow Redis", async () => {
  await open(bed.redis.url, "50ms")
  const checks = Promise.all(Array.from({ length: 5 }, (_, i) => limiter.check(`client-${i}`)))
  await new Promise((resolve) => setImmediate(resolve))
  for (const until = performance.now() + 200; performance.now() < until; );
  expect((await checks).map(({ degraded }) => degraded)).toEqual(Array.from({ length: 5 }, () => undefined))
})

it("loses no decision and counts none twice while the scripts are flushed in a loop", {
  timeout: 30_000,
}, async () => {
  const subject: Subject = await underLoad(bed.redis.url, {}, { deadline: "5s" })
  await subject.shared()
  let flushes = 0
  const from = performance.now()
  while (subject.load.since(from).length < 300) {
    await bed.control.command("SCRIPT", "FLUSH")
    flushes++
  }
  await subject.shared()
  await subject.sound()
  expect(flushes).toBeGreaterThan(50)
  expect(subject.store.stats).toEqual({
    failures: {},
    degraded: { allow: 0, deny: 0, local: 0 },
    ambiguous: 0,
    dropped: 0,
  })
  expect(worstOf(subject.load, "local")).toBeLessThanOrEqual(subject.load.limit)
  await subject.close()
})

it("a key that holds another type degrades only that key", async () => {
  await open(bed.redis.url, "5s")
  await limiter.check("odd")
  const [key] = (await bed.redis.cli("KEYS", "*odd*")) as [string]
  await bed.redis.cli("DEL", key)
  await bed.redis.cli("RPUSH", key, "not", "ours")
  for (let i = 0; i < 30; i++) {
    expect((await limiter.check("odd")).degraded).toBe("local")
    expect((await limiter.peek("even")).degraded).toBeUndefined()
  }
  expect(new Set(failures.map(({ failure }) => failure.kind))).toEqual(new Set(["wrong-type"]))
  expect(store.breakers).toEqual(["closed"])
  expect(await bed.redis.cli("LRANGE", key, 0, -1)).toEqual(["not", "ours"])
})

it("reports a missing password where the client passes the error on", async () => {
  await bed.control.command("CONFIG", "SET", "requirepass", "secret")
  const { host, port } = bed.redis
  const client = new Redis({ host, port, enableReadyCheck: false, protocol: 2 })
  client.on("error", () => undefined)
  store = redisStore(client, { deadline: "5s", onFailure: (event) => void failures.push(event) })
  limiter = createLimiter({ store, limit: LIMIT, window: "1m", onStoreFailure: "deny" })
  expect(await limiter.check("client")).toMatchObject({ allowed: false, degraded: "deny" })
  expect(failures[0]?.failure).toMatchObject({ kind: "no-auth", ambiguous: false })
  client.disconnect()
})
