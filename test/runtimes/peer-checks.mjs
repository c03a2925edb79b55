// Runs one framework or Redis client with the library: `node peer-checks.mjs express`. Ends with 0 if the limit held.

import { createServer } from "node:http"
import { redisStore } from "sluice/redis"
import { equal, keepsContract, PATIENT, statusesOf } from "./checks.mjs"

const url = process.env.SLUICE_REDIS_URL
const limit = { limit: 2, window: "1m", algorithm: "token-bucket" }

/** Sends three requests to a handler of node:http, of which the last one must be denied. */
async function expectLimited(handler) {
  const server = createServer(handler)
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve))
  await expectLimitedAt(`http://127.0.0.1:${server.address().port}`)
  server.closeAllConnections()
  server.close()
}

async function expectLimitedAt(address) {
  let last
  const statuses = await statusesOf(async () => {
    last = await fetch(address)
    return last
  })
  equal(statuses, [200, 200, 429])
  equal(last.headers.get("retry-after"), "30")
}

const programs = {
  async ioredis() {
    const { default: Redis } = await import("ioredis")
    const client = new Redis(url)
    await keepsContract(() => redisStore(client, PATIENT))
    client.disconnect()
  },

  async iovalkey() {
    const { default: Redis } = await import("iovalkey")
    const client = new Redis(url)
    await keepsContract(() => redisStore(client, PATIENT))
    client.disconnect()
  },

  async "node-redis"() {
    const { createClient } = await import("redis")
    const client = createClient({ url })
    await client.connect()
    await keepsContract(() => redisStore(client, PATIENT))
    // Version 4 has no destroy().
    await (client.destroy === undefined ? client.disconnect() : client.destroy())
  },

  async express() {
    const { default: express } = await import("express")
    const { rateLimit } = await import("sluice/express")
    const app = express()
    app.use(rateLimit(limit))
    app.get("/", (_, response) => response.send("hello"))
    await expectLimited(app)
  },

  async fastify() {
    const { default: fastify } = await import("fastify")
    const { rateLimit } = await import("sluice/fastify")
    const app = fastify({ forceCloseConnections: true })
    await app.register(rateLimit, limit)
    app.get("/", () => "hello")
    app.get("/own", { config: { rateLimit: { ...limit, limit: 1 } } }, () => "hello")
    const address = await app.listen({ port: 0, host: "127.0.0.1" })
    await expectLimitedAt(address)
    equal(await statusesOf(() => fetch(`${address}/own`)), [200, 429, 429])
    await app.close()
  },

  async hono() {
    const { Hono } = await import("hono")
    const { rateLimit } = await import("sluice/hono")
    const app = new Hono()
    app.use(rateLimit({ ...limit, key: () => "everybody" }))
    app.get("/", (context) => context.text("hello"))
    equal(await statusesOf(() => app.request("/")), [200, 200, 429])
  },

  async koa() {
    const { default: Koa } = await import("koa")
    const { rateLimit } = await import("sluice/koa")
    const app = new Koa()
    app.use(rateLimit(limit))
    app.use((context) => {
      context.body = "hello"
    })
    await expectLimited(app.callback())
  },

  async nest() {
    await import("reflect-metadata")
    const { Controller, Get, Module } = await import("@nestjs/common")
    const { APP_GUARD, NestFactory } = await import("@nestjs/core")
    const { RateLimitGuard, RateLimitModule } = await import("sluice/nest")
    class Items {
      hello() {
        return "hello"
      }
    }
    const method = Object.getOwnPropertyDescriptor(Items.prototype, "hello")
    Get()(Items.prototype, "hello", method)
    Controller()(Items)
    class App {}
    Module({
      imports: [RateLimitModule.forRoot(limit)],
      controllers: [Items],
      providers: [{ provide: APP_GUARD, useClass: RateLimitGuard }],
    })(App)
    const app = await NestFactory.create(App, { logger: false, forceCloseConnections: true })
    await app.listen(0, "127.0.0.1")
    await expectLimitedAt(await app.getUrl())
    await app.close()
  },
}

await programs[process.argv[2]]()
process.exit(0)
