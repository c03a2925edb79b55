import websocket from "@fastify/websocket"
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from "fastify"
import { afterEach, describe, expect, it } from "vitest"
import { WebSocket } from "ws"
import { eventually } from "../../../../../test/support/eventually.js"
import { createLimiter } from "../../limiter/limiter.js"
import { memoryStore } from "../../stores/memory/memory-store.js"
import { type AdapterCase, describeAdapter, type RunningApp } from "../suite/adapter-suite.test-support.js"
import { type FastifyRateLimitOptions, rateLimit } from "./fastify.js"

const start: AdapterCase["start"] = (limits, handler) => {
  const app = fastify({ forceCloseConnections: true })
  for (const options of limits) app.register(rateLimit, options)
  app.all("/*", async (request, reply) => {
    const path = new URL(request.url, "http://localhost").pathname
    const { status, body } = await handler(path, request.rateLimit ?? undefined, request)
    return reply.code(status).send(body)
  })
  return listen(app)
}
describeAdapter({ name: "fastify", start, trustSetting: "fastify({ trustProxy: 1 }) for one proxy" })

async function listen(app: FastifyInstance): Promise<RunningApp> {
  return { url: await app.listen({ host: "127.0.0.1", port: 0 }), close: () => app.close() }
}

const EXACT = { window: "1h", algorithm: "sliding-window-log" } as const
const ONCE = { limit: 1, ...EXACT } as const

describe("what only fastify has", () => {
  const apps: RunningApp[] = []
  afterEach(async () => {
    for (const app of apps.splice(0)) await app.close()
  })

  async function serve(build: (app: FastifyInstance) => unknown): Promise<string> {
    const app = fastify({ forceCloseConnections: true })
    await build(app)
    const running = await listen(app)
    apps.push(running)
    return running.url
  }

  async function statuses(url: string, paths: readonly string[]): Promise<number[]> {
    const seen: number[] = []
    for (const path of paths) seen.push((await fetch(url + path)).status)
    return seen
  }

  it("limits routes declared before it, in scopes and after it, and unknown routes", async () => {
    const url = await serve(async (app) => {
      app.get("/before", () => "hello")
      app.register(rateLimit, { limit: 3, ...EXACT })
      app.register(async (scope) => scope.get("/scope", () => "hello"))
      await app.after()
      app.get("/after", () => "hello")
    })
    expect(await statuses(url, ["/before", "/scope", "/nowhere", "/after"])).toEqual([200, 200, 404, 429])
  })

  it("limits only the scope that registers it", async () => {
    const url = await serve((app) => {
      app.register(async (scope) => {
        scope.register(rateLimit, ONCE)
        scope.get("/in", () => "hello")
      })
      app.get("/out", () => "hello")
    })
    expect(await statuses(url, ["/in", "/in", "/out", "/out"])).toEqual([200, 429, 200, 200])
  })

  it("counts a route with its own limit separately, and does not limit a route with false", async () => {
    const url = await serve((app) => {
      app.get("/early", { config: { rateLimit: ONCE } }, () => "hello")
      app.register(rateLimit, { limit: 2, ...EXACT })
      app.after(() => {
        app.get("/own", { config: { rateLimit: ONCE } }, () => "hello")
        app.get("/none", { config: { rateLimit: false } }, () => "hello")
        app.get("/", () => "hello")
      })
    })
    expect(await statuses(url, ["/own", "/own", "/early", "/early"])).toEqual([200, 429, 200, 429])
    expect(await statuses(url, ["/", "/", "/"])).toEqual([200, 200, 429])
    const free = await fetch(`${url}/none`)
    expect(free.status).toBe(200)
    expect(free.headers.has("ratelimit")).toBe(false)
  })

  it("applies a limit that another plugin gives a route after this one has seen it", async () => {
    const url = await serve(async (app) => {
      await app.register(rateLimit, { limit: 2, ...EXACT })
      app.addHook("onRoute", (route) => {
        if (route.url !== "/own") return
        route.config = { ...route.config, rateLimit: ONCE } as NonNullable<typeof route.config>
      })
      app.get("/own", () => "hello")
      app.get("/", () => "hello")
    })
    expect(await statuses(url, ["/own", "/own", "/", "/", "/"])).toEqual([200, 429, 200, 200, 429])
  })

  it("uses the application's limit for a route that only has a cost", async () => {
    const url = await serve((app) => {
      app.register(rateLimit, { limit: 5, ...EXACT })
      app.get("/dear", { config: { rateLimit: { cost: 4 } } }, () => "hello")
      app.get("/", () => "hello")
    })
    expect((await fetch(`${url}/dear`)).headers.get("x-ratelimit-remaining")).toBe("1")
    expect(await statuses(url, ["/dear", "/", "/"])).toEqual([429, 200, 429])
  })

  it("counts the HEAD of a GET together with it", async () => {
    const url = await serve((app) => {
      app.register(rateLimit, { global: false })
      app.get("/", { config: { rateLimit: ONCE } }, () => "hello")
    })
    expect((await fetch(url, { method: "HEAD" })).status).toBe(200)
    expect((await fetch(url)).status).toBe(429)
  })

  it("limits only routes with options of their own with global false", async () => {
    const url = await serve((app) => {
      app.register(rateLimit, { global: false, keyBy: "global" })
      app.after(() => {
        app.get("/hook", { preHandler: app.rateLimit(ONCE) }, () => "hello")
        app.get("/config", { config: { rateLimit: ONCE } }, () => "hello")
      })
      app.get("/", () => "hello")
    })
    expect(await statuses(url, ["/hook", "/hook", "/config", "/config"])).toEqual([200, 429, 200, 429])
    expect(await statuses(url, ["/", "/"])).toEqual([200, 200])
  })

  it("applies a route's own options once when the plugin is registered twice", async () => {
    const url = await serve((app) => {
      app.register(rateLimit, { limit: 9, ...EXACT, name: "outer" })
      app.register(async (scope) => {
        scope.register(rateLimit, { limit: 8, ...EXACT, name: "inner" })
        scope.get("/own", { config: { rateLimit: { limit: 7, ...EXACT, name: "own" } } }, () => "hello")
        scope.get("/both", () => "hello")
      })
    })
    expect((await fetch(`${url}/own`)).headers.get("ratelimit")).toMatch(/^"own";r=6;t=\d+$/)
    expect((await fetch(`${url}/both`)).headers.get("ratelimit")).toMatch(
      /^"outer";r=8;t=\d+, "inner";r=7;t=\d+$/,
    )
  })

  it("counts the routes that share a hook separately, on the same store", async () => {
    const store = memoryStore()
    const url = await serve((app) => {
      app.register(rateLimit, { limit: 9, ...EXACT, store })
      app.after(() => {
        const hook = app.rateLimit(ONCE)
        app.get("/a", { onRequest: hook }, () => "hello")
        app.get<{ Querystring: { page: string } }>("/b", { preValidation: hook }, () => "hello")
      })
    })
    expect(await statuses(url, ["/a", "/b", "/a", "/b"])).toEqual([200, 200, 429, 429])
    expect((await fetch(`${url}/a`)).headers.get("x-ratelimit-limit")).toBe("1")
    await store.close()
  })

  it("limits the not-found handler by its own hook", async () => {
    const url = await serve((app) => {
      app.register(rateLimit, { global: false })
      app.after(() =>
        app.setNotFoundHandler({ preHandler: app.rateLimit(ONCE) }, (_request, reply) =>
          reply.code(404).send(),
        ),
      )
      app.get("/", () => "hello")
    })
    expect(await statuses(url, ["/a", "/b", "/"])).toEqual([404, 429, 200])
  })

  it("knows the body at preHandler", async () => {
    const url = await serve((app) => {
      app.register(rateLimit, {
        ...ONCE,
        hook: "preHandler",
        key: (request) => (request.body as { user: string }).user,
      })
      app.post("/", () => "hello")
    })
    const post = async (user: string): Promise<number> => {
      const headers = { "content-type": "application/json" }
      return (await fetch(url, { method: "POST", headers, body: JSON.stringify({ user }) })).status
    }
    expect([await post("a"), await post("b"), await post("a")]).toEqual([200, 200, 429])
  })

  it("follows fastify's own trustProxy", async () => {
    const app = fastify({ forceCloseConnections: true, trustProxy: "127.0.0.1" })
    app.register(rateLimit, ONCE)
    app.get("/", () => "hello")
    const running = await listen(app)
    apps.push(running)
    const from = async (ip: string): Promise<number> =>
      (await fetch(running.url, { headers: { "x-forwarded-for": ip } })).status
    expect([await from("203.0.113.1"), await from("203.0.113.2"), await from("203.0.113.1")]).toEqual([
      200, 200, 429,
    ])
  })

  it("counts each route separately with keyBy route", async () => {
    const url = await serve((app) => {
      app.register(rateLimit, { ...ONCE, keyBy: "route" })
      app.register(async (scope) => scope.get("/a/:id", () => "a"), { prefix: "/api" })
      app.get("/b/:id", () => "b")
    })
    expect(await statuses(url, ["/api/a/1", "/b/1", "/api/a/2", "/b/2"])).toEqual([200, 200, 429, 429])
  })

  it("responds to a denial with problem+json and no charset, through the onSend hooks", async () => {
    let sent: unknown
    const url = await serve((app) => {
      app.addHook("onSend", async (_request, _reply, payload) => {
        sent = payload
        return payload
      })
      app.register(rateLimit, ONCE)
      app.get("/", () => "hello")
    })
    await fetch(url)
    const denied = await fetch(url)
    expect(denied.headers.get("content-type")).toBe("application/problem+json")
    expect(await denied.text()).toBe(sent)
  })

  const answers: Record<string, FastifyRateLimitOptions["onDenied"]> = {
    "by what it returns": () => ({ own: 429 }),
    "by a promise": async (_request, reply) => {
      reply.code(429)
      return { own: 429 }
    },
    "by sending": (_request, reply) => reply.send({ own: 429 }),
    "by sending later": async (_request, reply) => {
      await Promise.resolve()
      return reply.send({ own: 429 })
    },
  }
  it.each(Object.entries(answers))("lets onDenied answer %s", async (_how, onDenied) => {
    const url = await serve((app) => {
      app.register(rateLimit, { ...ONCE, onDenied } as FastifyRateLimitOptions)
      app.get("/", () => "hello")
    })
    await fetch(url)
    const denied = await fetch(url)
    expect(denied.status).toBe(429)
    expect(denied.headers.has("retry-after")).toBe(true)
    expect(await denied.json()).toEqual({ own: 429 })
  })

  it("sends the default response when onDenied returns nothing", async () => {
    const url = await serve((app) => {
      app.register(rateLimit, { ...ONCE, onDenied: () => undefined })
      app.get("/", () => "hello")
    })
    await fetch(url)
    expect((await fetch(url)).headers.get("content-type")).toBe("application/problem+json")
  })

  it("passes errors and rejections of onDenied to the error handler", async () => {
    const now = (): never => {
      throw new Error("now")
    }
    const later = (): Promise<never> => Promise.reject(new Error("later"))
    const url = await serve((app) => {
      app.register(rateLimit, { global: false })
      app.setErrorHandler((error: Error, _request, reply) => reply.code(500).send(error.message))
      app.get("/now", { config: { rateLimit: { ...ONCE, onDenied: now } } }, () => "hello")
      app.get("/later", { config: { rateLimit: { ...ONCE, onDenied: later } } }, () => "hello")
    })
    for (const path of ["now", "later"]) {
      await fetch(`${url}/${path}`)
      const failed = await fetch(`${url}/${path}`)
      expect([failed.status, await failed.text()]).toEqual([500, path])
    }
  })

  it("closes its own store with the application, and no given store", async () => {
    const decided: (string | undefined)[] = []
    const given = memoryStore()
    for (const store of [undefined, given]) {
      const app = fastify()
      await app.register(rateLimit, {
        limit: 9,
        ...EXACT,
        ...(store === undefined ? {} : { store }),
        onDecision: ({ decision }) => decided.push(decision.degraded),
      })
      const asked: [FastifyRequest, FastifyReply][] = []
      app.get("/", (request, reply) => {
        asked.push([request, reply])
        return "hello"
      })
      await app.inject("/")
      await app.close()
      for (const [request, reply] of asked) app.rateLimit({ cost: 1 })(request, reply, () => undefined)
    }
    expect(decided).toEqual([undefined, "allow", undefined, undefined])
    await given.close()
  })

  it("refuses invalid options at registration, and names their route", async () => {
    const failing = async (build: (app: FastifyInstance) => unknown): Promise<unknown> => {
      const app = fastify()
      try {
        await build(app)
        return "started"
      } catch (error) {
        return (error as Error).message
      }
    }
    expect(await failing((app) => app.register(rateLimit, { limit: 0, window: "1m" }))).toContain(
      "rateLimit.limit",
    )
    const unknownHook = { ...ONCE, hook: "onSend" } as unknown as FastifyRateLimitOptions
    expect(await failing((app) => app.register(rateLimit, unknownHook))).toContain("rateLimit.hook")
    const misspelt = { global: false, windw: "1m" } as unknown as FastifyRateLimitOptions
    expect(await failing((app) => app.register(rateLimit, misspelt))).toContain("did you mean window?")
    const route = (own: unknown) => async (app: FastifyInstance) => {
      await app.register(rateLimit, ONCE)
      app.post("/login", { config: { rateLimit: own as false } }, () => "hello")
    }
    expect(await failing(route({ limit: 5 }))).toContain("rateLimit.window of POST /login")
    expect(await failing(route("5/1m"))).toContain(
      "config.rateLimit of POST /login: must be options or false",
    )
  })

  describe("with @fastify/websocket", () => {
    async function serveSockets(options: FastifyRateLimitOptions): Promise<string> {
      return serve(async (app) => {
        await app.register(websocket)
        await app.register(rateLimit, options)
        app.get("/ws", { websocket: true }, (socket) => {
          socket.on("message", (text) => socket.send(`echo ${String(text)}`))
        })
        app.get("/", () => "hello")
      })
    }

    function connect(url: string): Promise<WebSocket | number> {
      return new Promise((resolve, reject) => {
        const socket = new WebSocket(`${url.replace("http", "ws")}/ws`)
        socket.once("open", () => resolve(socket))
        socket.once("unexpected-response", (request, response) => {
          resolve(response.statusCode ?? 0)
          request.destroy()
        })
        socket.once("error", reject)
      })
    }

    it("limits upgrades together with requests", async () => {
      const url = await serveSockets({ limit: 2, ...EXACT })
      expect((await fetch(url)).status).toBe(200)
      const socket = (await connect(url)) as WebSocket
      const echo = new Promise((resolve) => socket.once("message", (text) => resolve(String(text))))
      socket.send("hello")
      expect(await echo).toBe("echo hello")
      expect(await connect(url)).toBe(429)
      socket.terminate()
    })

    it("counts a connection that was opened and closed, also with skipFailedRequests", async () => {
      const limiter = createLimiter({ limit: 5, ...EXACT })
      const url = await serveSockets({ limiter, key: () => "me", skipFailedRequests: true })
      const socket = (await connect(url)) as WebSocket
      const closed = new Promise((resolve) => socket.once("close", resolve))
      socket.close()
      await closed
      expect((await fetch(`${url}/nowhere`)).status).toBe(404)
      await eventually(async () => (await limiter.peek("me")).remaining === 4)
      await limiter.close()
    })
  })
})
