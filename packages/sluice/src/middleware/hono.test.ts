import { getEventListeners } from "node:events"
import { createServer, type Server } from "node:http"
import type { AddressInfo } from "node:net"
import {
  createAdaptorServer,
  getRequestListener,
  upgradeWebSocket,
  type WebSocketServerLike,
} from "@hono/node-server"
import { Hono } from "hono"
import { HTTPException } from "hono/http-exception"
import { afterEach, describe, expect, it } from "vitest"
import { WebSocket, WebSocketServer } from "ws"
import { listenOnLoopback } from "../outgoing/loopback.test-support.js"
import { rateLimit } from "./hono.js"
import { type AdapterCase, describeAdapter, type RunningApp } from "./suite/adapter-suite.test-support.js"

const start: AdapterCase["start"] = (limits, handler) => {
  const app = new Hono()
  // Without the stack traces that hono prints.
  app.onError((_error, c) => c.text("failed", 500))
  for (const options of limits) app.use(rateLimit(options))
  app.all("*", async (c) => {
    const { status, body } = await handler(c.req.path, c.get("rateLimit"), c.var)
    return c.text(body, status as 200)
  })
  return listenOnLoopback(getRequestListener(app.fetch))
}
describeAdapter({ name: "hono", start, resolvesDots: true })

const once = { limit: 1, window: "1h", algorithm: "sliding-window-log" } as const
const twice = { ...once, limit: 2 } as const

const ANSWERS: [string, () => Response | Promise<Response>][] = [
  ["a plain Response", () => new Response("plain")],
  ["a Response whose headers cannot be changed", () => Response.redirect("http://127.0.0.1/", 302)],
  ["a Response of fetch", () => fetch("data:text/plain,fetched")],
]

describe("what only hono has", () => {
  const apps: RunningApp[] = []
  afterEach(async () => {
    for (const app of apps.splice(0)) await app.close()
  })

  async function serve(app: Hono): Promise<string> {
    const running = await listenOnLoopback(getRequestListener(app.fetch))
    apps.push(running)
    return running.url
  }

  it.each(ANSWERS)("shows its headers on %s", async (_what, answer) => {
    const app = new Hono().use(rateLimit(twice)).get("/", answer)
    const response = await fetch(await serve(app), { redirect: "manual" })
    expect(response.headers.get("x-ratelimit-remaining")).toBe("1")
  })

  it("shows its headers on the responses of an HTTPException and of a missing route", async () => {
    const app = new Hono().use(rateLimit({ ...once, limit: 9 })).get("/", () => {
      throw new HTTPException(401, { message: "who?" })
    })
    const url = await serve(app)
    const refused = await fetch(url)
    expect([refused.status, refused.headers.get("x-ratelimit-remaining")]).toEqual([401, "8"])
    const missing = await fetch(`${url}/missing`)
    expect([missing.status, missing.headers.get("x-ratelimit-remaining")]).toEqual([404, "7"])
  })

  it("keeps the headers and cookies that the handler set", async () => {
    const app = new Hono().use(rateLimit(once)).get("/", (c) => {
      c.header("set-cookie", "a=1", { append: true })
      c.header("set-cookie", "b=2", { append: true })
      return c.json({ fine: true })
    })
    const { headers } = await fetch(await serve(app))
    expect(headers.getSetCookie()).toEqual(["a=1", "b=2"])
    expect(headers.get("content-type")).toBe("application/json")
    expect(headers.get("x-ratelimit-remaining")).toBe("0")
  })

  it("limits routes separately, and shows an outer limit with theirs", async () => {
    const app = new Hono()
    app.use(rateLimit({ ...once, limit: 9, name: "all" }))
    app.get("/login", rateLimit({ ...once, name: "login" }), (c) => c.text("hello"))
    app.get("/free", (c) => c.text("hello"))
    const url = await serve(app)
    const first = await fetch(`${url}/login`)
    expect(first.headers.get("ratelimit")).toMatch(/^"all";r=8;t=\d+, "login";r=0;t=\d+$/)
    expect(first.headers.get("x-ratelimit-remaining")).toBe("0")
    const second = await fetch(`${url}/login`)
    expect(second.status).toBe(429)
    expect(second.headers.get("x-ratelimit-limit")).toBe("1")
    expect((await fetch(`${url}/free`)).headers.get("ratelimit")).toMatch(/^"all";r=6;t=\d+$/)
  })

  it("keeps an outer limit's headers when an inner one shows none", async () => {
    const app = new Hono()
    app.use(rateLimit(twice))
    app.get("/", rateLimit({ ...once, prefix: "inner", headers: "none" }), (c) => c.text("hello"))
    const { headers } = await fetch(await serve(app))
    expect(headers.get("x-ratelimit-limit")).toBe("2")
  })

  it("counts by the route of the handler, not of the middleware", async () => {
    const app = new Hono().use("*", rateLimit({ ...once, keyBy: "route" }))
    app.get("/items/:id", (c) => c.text("item"))
    app.get("/lists/:id", (c) => c.text("list"))
    const url = await serve(app)
    const paths = ["/items/1", "/items/2", "/lists/1"]
    const answers = await Promise.all(paths.map(async (path) => (await fetch(url + path)).status))
    expect(answers).toEqual([200, 429, 200])
  })

  it("lets onDenied respond with the headers, or let the request go on", async () => {
    const app = new Hono()
    app.use(
      rateLimit({
        ...once,
        onDenied(c, decision, next) {
          return c.req.path === "/pass" ? next() : c.json({ limit: decision.limit }, 418)
        },
      }),
    )
    app.get("*", (c) => c.text(String(c.get("rateLimit")?.allowed)))
    const url = await serve(app)
    expect(await (await fetch(url)).text()).toBe("true")
    const denied = await fetch(url)
    expect([denied.status, await denied.json()]).toEqual([418, { limit: 1 }])
    expect(denied.headers.has("retry-after")).toBe(true)
    const passed = await fetch(`${url}/pass`)
    expect(await passed.text()).toBe("false")
    expect(passed.headers.get("x-ratelimit-remaining")).toBe("0")
  })

  it("responds 429 to a WebSocket upgrade above the limit", async () => {
    const app = new Hono().use(rateLimit(once))
    app.get(
      "/ws",
      upgradeWebSocket(() => ({ onOpen: (_event, socket) => socket.send("welcome") })),
    )
    // The types of ws and of hono's server disagree about an option that may be undefined.
    const sockets = new WebSocketServer({ noServer: true }) as unknown as WebSocketServerLike
    const websocket = { server: sockets }
    const server = createAdaptorServer({ fetch: app.fetch, createServer, websocket }) as Server
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
    const url = `ws://127.0.0.1:${(server.address() as AddressInfo).port}/ws`
    const open = (): Promise<string> =>
      new Promise((resolve) => {
        const socket = new WebSocket(url)
        socket.on("message", (data) => {
          socket.terminate()
          resolve(String(data))
        })
        socket.on("unexpected-response", (_request, response) => {
          response.destroy()
          resolve(`${response.statusCode} ${response.headers["x-ratelimit-remaining"]}`)
        })
      })
    expect(await open()).toBe("welcome")
    expect(await open()).toBe("429 0")
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })
})

describe("without node:http", () => {
  const from = (env: object | undefined, app: Hono, path = "/") => app.request(path, {}, env)

  function app(options: Parameters<typeof rateLimit>[0]): Hono {
    return new Hono().use(rateLimit(options)).get("/", (c) => c.text("hello"))
  }

  it.each<[string, (ip: string) => object]>([
    ["Deno", (ip) => ({ remoteAddr: { transport: "tcp", hostname: ip, port: 1 } })],
    ["Bun", (ip) => ({ requestIP: () => ({ address: ip, family: "IPv4", port: 1 }) })],
    ["Bun, its server beside other things", (ip) => ({ server: { requestIP: () => ({ address: ip }) } })],
  ])("counts by the address that %s provides", async (_what, env) => {
    const limited = app(once)
    expect((await from(env("203.0.113.1"), limited)).status).toBe(200)
    expect((await from(env("203.0.113.1"), limited)).status).toBe(429)
    expect((await from(env("203.0.113.2"), limited)).status).toBe(200)
  })

  it("counts by the address of the ip option", async () => {
    const limited = app({ ...once, ip: (c) => c.req.header("cf-connecting-ip") })
    const as = (ip: string) => limited.request("/", { headers: { "cf-connecting-ip": ip } })
    expect((await as("203.0.113.1")).status).toBe(200)
    expect((await as("203.0.113.1")).status).toBe(429)
    expect((await as("203.0.113.2")).status).toBe(200)
  })

  it("counts all clients together without an address, also without an environment", async () => {
    const limited = app(once)
    expect((await from(undefined, limited)).status).toBe(200)
    expect((await from({ ip: "203.0.113.2", server: "text" }, limited)).status).toBe(429)
    expect((await limited.fetch(new Request("http://a.example/"))).status).toBe(429)
  })

  it.each(ANSWERS)("shows its headers on %s there too", async (_what, answer) => {
    const limited = new Hono().use(rateLimit(twice)).get("/", answer)
    expect((await limited.request("/")).headers.get("x-ratelimit-remaining")).toBe("1")
  })

  it("shows an outer limit and an inner one together there too, passed or denied", async () => {
    const limited = new Hono().use(rateLimit({ ...twice, name: "outer" }))
    limited.get("/", rateLimit({ ...once, name: "inner" }), (c) => c.text("hello"))
    const shown = async () => (await limited.request("/")).headers.get("ratelimit")
    expect(await shown()).toMatch(/^"outer";r=1;t=\d+, "inner";r=0;t=\d+$/)
    expect(await shown()).toMatch(/^"outer";r=0;t=\d+, "inner";r=0;t=\d+$/)
  })

  it("lets onDenied let a request go on there too, with its headers", async () => {
    const limited = app({ ...once, onDenied: (_c, _decision, next) => next() })
    await limited.request("/")
    const passed = await limited.request("/")
    expect([passed.status, passed.headers.get("x-ratelimit-remaining")]).toEqual([200, "0"])
  })

  it("refunds failed requests there too, also when the handler throws something that is no Error", async () => {
    const limited = new Hono().use(rateLimit({ ...once, skipFailedRequests: true }))
    limited.get("/", (c) => c.text("hello"))
    limited.get("/bad", (c) => c.text("bad", 400))
    limited.get("/throw", () => Promise.reject("text"))
    expect((await limited.request("/bad")).status).toBe(400)
    await expect(async () => limited.request("/throw")).rejects.toBe("text")
    expect((await limited.request("/")).status).toBe(200)
    expect((await limited.request("/")).status).toBe(429)
  })
})

it("removes its listeners once the response is ready", async () => {
  const app = new Hono().use(rateLimit({ ...once, skipFailedRequests: true }))
  let during = 0
  const { signal } = new AbortController()
  app.get("/", (c) => {
    during = getEventListeners(c.req.raw.signal, "abort").length
    return c.text("hello")
  })
  const request = new Request("http://a.example/", { signal })
  const before = getEventListeners(request.signal, "abort").length
  expect((await app.fetch(request)).status).toBe(200)
  expect(during).toBe(before + 1)
  expect(getEventListeners(request.signal, "abort")).toHaveLength(before)
})

describe("invalid options", () => {
  it.each([
    [{ ...once, limt: 1 }, "rateLimit.limt: does not exist; did you mean limit? [OPTION_UNKNOWN]"],
    [{ ...once, ip: "1.2.3.4" }, 'rateLimit.ip: must be a function, got "1.2.3.4" [OPTION_TYPE]'],
    [{ ...once, onDenied: 429 }, "rateLimit.onDenied: must be a function, got 429 [OPTION_TYPE]"],
    [undefined, "rateLimit: must be an object, got undefined [OPTION_TYPE]"],
  ])("are refused at creation: %j", (options, message) => {
    expect(() => rateLimit(options as never)).toThrow(message)
  })
})

describe("a concurrency limit without node:http", () => {
  const ONE = { algorithm: "concurrency", limit: 1, hold: "1h", key: () => "me" } as const

  function app() {
    let body!: ReadableStreamDefaultController<Uint8Array>
    const hono = new Hono()
    hono.use(rateLimit(ONE))
    hono.get("/free", (c) => c.body(null, 204))
    hono.get("/throw", () => {
      throw new Error("on purpose")
    })
    const source = {
      start(controller: typeof body) {
        body = controller
      },
    }
    hono.get("/stream", (c) => c.body(new ReadableStream(source), 200, { "x-own": "1" }))
    const isFree = async () => (await hono.request("/free")).status === 204
    return { hono, isFree, controller: () => body }
  }

  it("holds its place until the body has been sent", async () => {
    const { hono, isFree, controller } = app()
    const response = await hono.request("/stream")
    expect(response.headers.get("x-own")).toBe("1")
    expect(response.headers.get("x-ratelimit-remaining")).toBe("0")
    expect(await isFree()).toBe(false)
    controller().enqueue(new TextEncoder().encode("done"))
    controller().close()
    expect(await response.text()).toBe("done")
    expect(await isFree()).toBe(true)
  })

  it("frees its place when the body is cancelled, and when the handler throws", async () => {
    const { hono, isFree } = app()
    const response = await hono.request("/stream")
    expect(await isFree()).toBe(false)
    await response.body?.cancel()
    expect(await isFree()).toBe(true)
    const failed = await hono.request("/throw")
    await failed.text()
    expect(failed.status).toBe(500)
    expect(await isFree()).toBe(true)
  })
})
