import "reflect-metadata"
import { Controller, Get, type INestApplication, Module } from "@nestjs/common"
import { APP_GUARD, NestFactory } from "@nestjs/core"
import { ThrottlerGuard, ThrottlerModule, type ThrottlerStorage } from "@nestjs/throttler"
import { afterEach, expect, it } from "vitest"
import { memoryStore } from "../../stores/memory/memory-store.js"
import { ManualClock } from "../../testing/manual-clock.js"
import { describeOnBothStores } from "./stores.test-support.js"
import { throttlerStorage } from "./throttler-storage.js"

const apps: INestApplication[] = []
afterEach(async () => {
  for (const app of apps.splice(0)) await app.close()
})

/** An application whose every route is behind the throttler's own guard. Decorators are called by hand. */
async function serve(storage: ThrottlerStorage): Promise<string> {
  class Hello {
    hello(): string {
      return "hello"
    }
  }
  Controller()(Hello)
  Get()(Hello.prototype, "hello", Object.getOwnPropertyDescriptor(Hello.prototype, "hello") as object)
  class App {}
  Module({
    imports: [ThrottlerModule.forRoot({ throttlers: [{ ttl: 60_000, limit: 2 }], storage })],
    controllers: [Hello],
    providers: [{ provide: APP_GUARD, useClass: ThrottlerGuard }],
  })(App)
  const app = await NestFactory.create(App, { logger: false })
  apps.push(app)
  await app.listen(0, "127.0.0.1")
  return await app.getUrl()
}

describeOnBothStores((openStore) => {
  it("counts for the guard of @nestjs/throttler", async () => {
    const url = await serve(throttlerStorage({ store: openStore() }))
    const first = await fetch(url)
    expect([first.status, first.headers.get("x-ratelimit-remaining")]).toEqual([200, "1"])
    expect((await fetch(url)).status).toBe(200)
    const denied = await fetch(url)
    expect([denied.status, denied.headers.get("retry-after")]).toEqual([429, "60"])
  })

  it("counts up to the limit, then blocks for the block's duration", async () => {
    const storage: ThrottlerStorage = throttlerStorage({ store: openStore() })
    const ask = () => storage.increment("a", 60_000, 2, 120_000, "default")
    expect(await ask()).toEqual({ totalHits: 1, timeToExpire: 60, isBlocked: false, timeToBlockExpire: 0 })
    expect(await ask()).toMatchObject({ totalHits: 2, isBlocked: false })
    expect(await ask()).toMatchObject({ totalHits: 3, isBlocked: true, timeToBlockExpire: 120 })
    expect(await ask()).toMatchObject({ totalHits: 3, isBlocked: true, timeToBlockExpire: 120 })
  })

  it("keeps separate counts for throttlers, keys and limits of one key", async () => {
    const storage = throttlerStorage({ store: openStore() })
    await storage.increment("a", 60_000, 1, 0, "short")
    expect((await storage.increment("a", 60_000, 1, 0, "long")).isBlocked).toBe(false)
    expect((await storage.increment("b", 60_000, 1, 0, "short")).isBlocked).toBe(false)
    expect((await storage.increment("a", 60_000, 1, 0, "short")).isBlocked).toBe(true)
    expect((await storage.increment("a", 60_000, 2, 0, "short")).isBlocked).toBe(false)
  })

  it("denies everything with a limit of 0", async () => {
    const storage = throttlerStorage({ store: openStore() })
    expect(await storage.increment("a", 60_000, 0, 0, "default")).toEqual({
      totalHits: 1,
      timeToExpire: 60,
      isBlocked: true,
      timeToBlockExpire: 60,
    })
  })
})

function timed() {
  const clock = new ManualClock()
  return { clock, storage: throttlerStorage({ store: memoryStore({ clock }) }) }
}

it("starts at zero when a block ends, also within the same window", async () => {
  const { clock, storage } = timed()
  const ask = () => storage.increment("a", 60_000, 1, 1_000, "default")
  await ask()
  expect((await ask()).isBlocked).toBe(true)
  clock.advance(999)
  expect(await ask()).toMatchObject({ isBlocked: true, timeToBlockExpire: 1 })
  clock.advance(1)
  expect(await ask()).toMatchObject({ totalHits: 1, isBlocked: false })
})

it("drops each request from the window on its own when there is no block", async () => {
  const { clock, storage } = timed()
  const ask = () => storage.increment("a", 10_000, 2, 0, "default")
  await ask()
  clock.advance(4_000)
  await ask()
  expect(await ask()).toMatchObject({ isBlocked: true, timeToBlockExpire: 6 })
  clock.advance(6_000)
  expect(await ask()).toMatchObject({ totalHits: 2, isBlocked: false })
})

it("refuses an algorithm that delays requests, which the throttler's guard cannot", () => {
  expect(() => throttlerStorage({ algorithm: "leaky-bucket" as never })).toThrow(/throttlerStorage.algorithm/)
})

it("refuses a store in place of options", () => {
  expect(() => throttlerStorage(memoryStore() as object)).toThrow(
    "throttlerStorage: takes options, not a store: write throttlerStorage({ store })",
  )
})
