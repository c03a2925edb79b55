import { Redis } from "ioredis"
import { createClient } from "redis"
import { createLimiter } from "sluice"
import { connectRedis, redisStore } from "sluice/redis"
import { afterEach, expect, it } from "vitest"
import { eventually } from "../support/eventually.js"
import { type Bed, openBed } from "./bed.js"
import { expectNoUnhandledRejections } from "./rejections.js"
import { DEADLINE, isDegraded, loaded, type Subject, underLoad } from "./subject.js"

expectNoUnhandledRejections()

let bed: Bed
let subject: Subject | undefined

afterEach(async () => {
  await subject?.close()
  subject = undefined
  await bed.stop()
})

const absences: { name: string; leave: () => Promise<void>; arrive: () => Promise<void> }[] = [
  { name: "is not there", leave: () => bed.proxy.refuse(), arrive: () => bed.proxy.pass() },
  { name: "accepts and is silent", leave: async () => bed.proxy.halfOpen(), arrive: () => bed.proxy.pass() },
  { name: "is frozen", leave: () => bed.redis.pause(), arrive: async () => bed.redis.resume() },
]

it.each(absences)(
  "starts and serves when Redis $name at boot, and finds it later",
  async ({ leave, arrive }) => {
    bed = await openBed()
    await leave()
    subject = await underLoad(bed.proxy.url)
    await subject.degraded()
    expect(subject.load.samples.filter((sample) => !isDegraded(sample))).toEqual([])
    expect(subject.load.samples.filter(({ policy, allowed }) => policy === "deny" && allowed)).toEqual([])
    await arrive()
    await subject.shared()
    await subject.sound()
  },
)

it("decides locally while the user's client is not connected, and by Redis once it is", async () => {
  bed = await openBed()
  const lazy = new Redis({ port: bed.redis.port, host: bed.redis.host, lazyConnect: true })
  subject = await loaded((onFailure) => redisStore(lazy, { deadline: DEADLINE, onFailure }))
  await subject.shared()
  await subject.sound()
  await subject.close()
  lazy.disconnect()

  const client = createClient({ socket: { host: bed.redis.host, port: bed.redis.port } })
  client.on("error", () => undefined)
  subject = await loaded((onFailure) => redisStore(client, { deadline: DEADLINE, onFailure }))
  await subject.degraded()
  expect(subject.failures[0]?.failure.message).toContain("call its connect() first")
  await client.connect()
  await subject.shared()
  await subject.sound()
  client.destroy()
})

it("does not send checks to Redis later that were answered without it", async () => {
  bed = await openBed()
  await bed.proxy.refuse()
  const store = await connectRedis(bed.proxy.url, { deadline: "30ms" })
  const limiter = createLimiter({ store, limit: 10, window: "1m" })
  const early = await Promise.all(Array.from({ length: 5 }, () => limiter.check("client")))
  expect(early.map(({ degraded }) => degraded)).toEqual(Array.from({ length: 5 }, () => "local"))
  await bed.proxy.pass()
  const shared = await eventually(
    async () => {
      const peek = await limiter.peek("client")
      return peek.degraded === undefined ? peek : undefined
    },
    { what: "Redis is found" },
  )
  expect(shared.remaining).toBe(10)
  expect((await limiter.peek("client")).remaining).toBe(10)
  await store.close()
})

it("warns about a Redis that evicts keys", async () => {
  bed = await openBed({ config: { "maxmemory-policy": "allkeys-lru" } })
  const warnings: (Error & { code?: string })[] = []
  const note = (warning: Error): void => void warnings.push(warning)
  process.on("warning", note)
  try {
    subject = await underLoad(bed.redis.url)
    await subject.shared()
    await eventually(() => warnings.length > 0)
  } finally {
    process.off("warning", note)
  }
  expect(warnings.map(({ code }) => code)).toEqual(["REDIS_EVICTS"])
  expect(warnings[0]?.message).toMatch(/noeviction.*allkeys-lru/)
})
