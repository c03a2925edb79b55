// Holds on a real Redis: what is left of them, and what becomes of those of a process that was killed.

import { spawn } from "node:child_process"
import { once } from "node:events"
import { createLimiter } from "sluice"
import { redisStore } from "sluice/redis"
import { afterAll, beforeAll, expect, it } from "vitest"
import { fromRoot } from "../docs/examples.js"
import { eventually } from "../support/eventually.js"
import { type RedisServer, startRedis } from "../support/redis/single.js"
import { LIBRARIES, type OpenClient, openSingle } from "./clients.js"
import { describeHolders } from "./holders.js"

let server: RedisServer
beforeAll(async () => {
  server = await startRedis()
})
afterAll(() => server?.stop())

async function limiterOn(client: OpenClient, limit: number, hold: string) {
  const store = redisStore(client.client, { deadline: "5s" })
  const limiter = createLimiter({ store, name: "calls", algorithm: "concurrency", limit, hold })
  const close = async () => {
    await store.close()
    await client.close()
  }
  return { limiter, close }
}

it.each(LIBRARIES)("a release by %s frees the place and leaves nothing in Redis", async (library) => {
  const { limiter, close } = await limiterOn(await openSingle(library, server), 2, "1h")
  const key = `left:${library}`
  const holds = [await limiter.acquire(key), await limiter.acquire(key)]
  expect((await limiter.acquire(key)).allowed).toBe(false)
  for (const { hold } of holds) await hold?.release()
  expect(await limiter.peek(key)).toMatchObject({ remaining: 2, resetAfterMs: 0 })
  const large = await limiter.acquire(key, { cost: 2 })
  expect((await limiter.acquire(key)).allowed).toBe(false)
  expect(await large.hold?.extend()).toBe(true)
  await large.hold?.release()
  expect(await limiter.peek(key)).toMatchObject({ remaining: 2, resetAfterMs: 0 })
  await close()
})

it("the places of a holder killed with -9 come back after its hold, and not before", async () => {
  const { limiter, close } = await limiterOn(await openSingle("ioredis", server), 2, "2s")
  const holder = spawn(process.execPath, ["--input-type=module", "-e", HOLDER, String(server.port)], {
    cwd: fromRoot("."),
    stdio: ["ignore", "pipe", "inherit"],
  })
  const exited = once(holder, "exit")
  const [said] = (await once(holder.stdout, "data")) as [Buffer]
  expect(String(said)).toBe("true true\n")
  holder.kill("SIGKILL")
  await exited
  const denied = await limiter.acquire("killed")
  expect(denied.allowed).toBe(false)
  expect(denied.retryAfterMs).toBeLessThanOrEqual(2_000)
  const next = await limiter.acquire("killed", { maxWaitMs: 10_000 })
  expect(next.allowed).toBe(true)
  await next.hold?.release()
  await eventually(async () => (await limiter.peek("killed")).remaining === 2)
  await close()
})

describeHolders("one server", () => `redis://127.0.0.1:${server.port}`)

const HOLDER = `
import { Redis } from "ioredis"
import { createLimiter } from "sluice"
import { redisStore } from "sluice/redis"
const store = redisStore(new Redis(Number(process.argv[1])), { deadline: "5s" })
const limiter = createLimiter({ store, name: "calls", algorithm: "concurrency", limit: 2, hold: "2s" })
const holds = [await limiter.acquire("killed"), await limiter.acquire("killed")]
console.log(holds.map(({ allowed }) => allowed).join(" "))
setInterval(() => {}, 1_000)
`
