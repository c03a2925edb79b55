// Rules that take the cost of a request from its response.

import { once } from "node:events"
import type { AddressInfo, Server } from "node:net"
import { json } from "node:stream/consumers"
import { serve } from "@hono/node-server"
import express from "express"
import fastify from "fastify"
import { Hono } from "hono"
import Koa from "koa"
import { afterEach, expect, it } from "vitest"
import { eventually } from "../../../../../test/support/eventually.js"
import { listenOnLoopback } from "../../outgoing/loopback.test-support.js"
import { createRuleEngine, type RuleEngine } from "../../rules/index.js"
import { rateLimit as expressLimit } from "../express.js"
import { rateLimit as fastifyLimit } from "../fastify/fastify.js"
import { withRateLimit as withFetchLimit } from "../fetch/fetch.js"
import { rateLimit as honoLimit } from "../hono.js"
import { rateLimit as koaLimit } from "../koa.js"
import { withRateLimit } from "../node/node.js"

const closers: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closers.splice(0)) await close()
})

function tokenRules(): RuleEngine {
  const engine = createRuleEngine({
    rules: {
      version: 1,
      rules: [
        {
          id: "tokens",
          keyBy: "global",
          limits: [{ limit: 1_000, window: "1h", algorithm: "sliding-window-log" }],
          cost: { responseHeader: "x-tokens", estimate: 100 },
        },
      ],
    },
  })
  closers.push(() => engine.close())
  return engine
}

async function listening(server: Server): Promise<string> {
  closers.push(() => server.close())
  if (!server.listening) await once(server, "listening")
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
}

/** Each responds with x-tokens: 350. */
const apps: Readonly<Record<string, (engine: RuleEngine) => Promise<string>>> = {
  async "node:http"(engine) {
    const app = await listenOnLoopback(
      withRateLimit((_request, response) => response.writeHead(200, { "X-Tokens": 350 }).end(), { engine }),
    )
    closers.push(() => app.close())
    return app.url
  },
  async express(engine) {
    const app = express().use(expressLimit({ engine }))
    app.get("/", (_request, response) => void response.set("X-Tokens", "350").end())
    return listening(app.listen(0, "127.0.0.1"))
  },
  async fastify(engine) {
    const app = fastify()
    closers.push(() => app.close())
    await app.register(fastifyLimit, { engine })
    app.get("/", (_request, reply) => reply.header("X-Tokens", 350).send("hello"))
    return app.listen({ port: 0, host: "127.0.0.1" })
  },
  async koa(engine) {
    const app = new Koa().use(koaLimit({ engine }))
    app.use((context) => {
      context.set("X-Tokens", "350")
      context.body = "hello"
    })
    return listening(app.listen(0, "127.0.0.1"))
  },
  async hono(engine) {
    const app = new Hono().use(honoLimit({ engine }))
    app.get("/", (context) => context.text("hello", 200, { "X-Tokens": "350" }))
    return listening(serve({ fetch: app.fetch, port: 0, hostname: "127.0.0.1" }) as Server)
  },
}

it.each(Object.keys(apps))("settles the cost that the response of %s names", async (name) => {
  const engine = tokenRules()
  const url = await apps[name]?.(engine)
  const { headers } = await fetch(url as string)
  expect(headers.get("x-ratelimit-remaining")).toBe("900")
  await eventually(async () => (await engine.peek({ ip: "127.0.0.1", path: "/" })).remaining === 650)
})

it("settles the cost that a fetch response names", async () => {
  const engine = tokenRules()
  const handler = withFetchLimit(() => new Response("hello", { headers: { "x-tokens": "350" } }), {
    engine,
    ip: () => "127.0.0.1",
  })
  await handler(new Request("http://api.example/"))
  await eventually(async () => (await engine.peek({ path: "/" })).remaining === 650)
})

it.each(["express", "fastify", "koa"] as const)(
  "%s gives rules the body that was parsed before",
  async (name) => {
    const engine = createRuleEngine({
      rules: {
        version: 1,
        rules: [
          {
            id: "tokens",
            keyBy: "global",
            limits: [{ limit: 1_000, window: "1h" }],
            cost: { estimate: { json: "max_tokens", default: 1 } },
          },
        ],
      },
    })
    closers.push(() => engine.close())
    const start = {
      express() {
        const app = express().use(express.json()).use(expressLimit({ engine }))
        return listening(app.listen(0, "127.0.0.1"))
      },
      async fastify() {
        const app = fastify()
        closers.push(() => app.close())
        await app.register(fastifyLimit, { engine, hook: "preHandler" })
        app.post("/", () => "")
        return `${await app.listen({ port: 0, host: "127.0.0.1" })}/`
      },
      koa() {
        const app = new Koa()
        app.use(async (context, next) => {
          Object.assign(context.request, { body: await json(context.req) })
          await next()
        })
        app.use(koaLimit({ engine }))
        return listening(app.listen(0, "127.0.0.1"))
      },
    }
    const url = await start[name]()
    const headers = { "content-type": "application/json" }
    const response = await fetch(url, { method: "POST", headers, body: '{"max_tokens":300}' })
    expect(response.headers.get("x-ratelimit-remaining")).toBe("700")
  },
)
