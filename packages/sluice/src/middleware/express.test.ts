import { createRequire } from "node:module"
import express, { type Express } from "express"
import { afterEach, describe, expect, it } from "vitest"
import { listenOnLoopback } from "../outgoing/loopback.test-support.js"
import { rateLimit } from "./express.js"
import { rateLimit as nodeRateLimit } from "./node/node.js"
import { type AdapterCase, describeAdapter, type RunningApp } from "./suite/adapter-suite.test-support.js"

// The alias of express 4 has no types.
const express4 = createRequire(import.meta.url)("express4") as typeof express

for (const [name, create] of [["express 5", express] as const, ["express 4", express4] as const]) {
  const start: AdapterCase["start"] = (limits, handler) => {
    const app = create()
    for (const options of limits) app.use(rateLimit(options))
    app.use(async (request, response, next) => {
      try {
        const { status, body } = await handler(request.path, request.rateLimit, request)
        response.status(status).send(body)
      } catch (error) {
        next(error)
      }
    })
    return listen(app)
  }
  describeAdapter({ name, start, trustSetting: 'app.set("trust proxy", 1) for one proxy' })
}

/** Without the stack traces that express prints outside tests. */
function listen(app: Express): Promise<RunningApp> {
  app.set("env", "test")
  return listenOnLoopback(app)
}

describe("what only express has", () => {
  const apps: RunningApp[] = []
  afterEach(async () => {
    for (const app of apps.splice(0)) await app.close()
  })

  async function serve(build: (app: Express) => void): Promise<string> {
    const app = express()
    build(app)
    const running = await listen(app)
    apps.push(running)
    return running.url
  }

  const once = { limit: 1, window: "1h", algorithm: "sliding-window-log" } as const
  const from = async (url: string, ip: string): Promise<number> =>
    (await fetch(url, { headers: { "x-forwarded-for": ip } })).status

  it("limits one route and no others", async () => {
    const url = await serve((app) => {
      app.get("/login", rateLimit(once), (_request, response) => void response.send("in"))
      app.get("/", (_request, response) => void response.send("hello"))
    })
    expect((await fetch(`${url}/login`)).status).toBe(200)
    expect((await fetch(`${url}/login`)).status).toBe(429)
    const other = await fetch(url)
    expect(other.status).toBe(200)
    expect(other.headers.has("ratelimit")).toBe(false)
  })

  it("counts each route separately with keyBy route, also inside a router", async () => {
    const url = await serve((app) => {
      const router = express.Router()
      const limit = rateLimit({ ...once, keyBy: "route" })
      router.get("/a/:id", limit, (_request, response) => void response.send("a"))
      router.get("/b/:id", limit, (_request, response) => void response.send("b"))
      app.use("/api", router)
    })
    expect((await fetch(`${url}/api/a/1`)).status).toBe(200)
    expect((await fetch(`${url}/api/b/1`)).status).toBe(200)
    expect((await fetch(`${url}/api/a/2`)).status).toBe(429)
  })

  it("follows the application's own trust proxy setting", async () => {
    const url = await serve((app) => {
      app.set("trust proxy", 1)
      app.use(rateLimit(once))
      app.get("/", (_request, response) => void response.send("hello"))
    })
    expect(await from(url, "203.0.113.1")).toBe(200)
    expect(await from(url, "203.0.113.2")).toBe(200)
    expect(await from(url, "198.51.100.1, 203.0.113.2")).toBe(429)
  })

  it("warns once of a trust proxy setting that lets clients choose their address", async () => {
    const warnings: (Error & { code?: string })[] = []
    const listener = (warning: Error): unknown => warnings.push(warning)
    process.on("warning", listener)
    const url = await serve((app) => {
      app.set("trust proxy", true)
      app.use(rateLimit(once))
      app.get("/", (_request, response) => void response.send("hello"))
    })
    await from(url, "203.0.113.1")
    await from(url, "203.0.113.2")
    process.removeListener("warning", listener)
    expect(warnings.map(({ code }) => code)).toEqual(["TRUST_PROXY_INVALID"])
  })

  it("shows its limit together with that of a plain Node middleware", async () => {
    const url = await serve((app) => {
      app.use(nodeRateLimit({ ...once, limit: 2, name: "node" }))
      app.use(rateLimit({ ...once, limit: 3, name: "express" }))
      app.get("/", (_request, response) => void response.send("hello"))
    })
    const { headers } = await fetch(url)
    expect(headers.get("ratelimit-policy")).toBe('"node";q=2;w=3600, "express";q=3;w=3600')
    expect(headers.get("x-ratelimit-remaining")).toBe("1")
  })

  it("lets a request go on that another middleware has already responded to", async () => {
    const seen: unknown[] = []
    const url = await serve((app) => {
      app.use((_request, response, next) => {
        response.send("early")
        next()
      })
      app.use(rateLimit(once))
      app.use((request, _response, _next) => void seen.push(request.rateLimit?.allowed))
      app.use(((error, _request, _response, _next) => void seen.push(error)) as express.ErrorRequestHandler)
    })
    expect(await (await fetch(url)).text()).toBe("early")
    expect(seen).toEqual([true])
  })

  it("lets onDenied respond, or let the request go on", async () => {
    const url = await serve((app) => {
      const answer = rateLimit({
        ...once,
        onDenied: (_request, response, decision) =>
          response.status(418).json({ retryAfterMs: decision.retryAfterMs }),
      })
      app.get("/answer", answer, (_request, response) => void response.send("hello"))
      const pass = rateLimit({ ...once, onDenied: (_request, _response, _decision, next) => next() })
      app.get("/pass", pass, (request, response) => void response.json(request.rateLimit?.allowed))
    })
    await fetch(`${url}/answer`)
    const denied = await fetch(`${url}/answer`)
    expect(denied.status).toBe(418)
    expect(denied.headers.has("retry-after")).toBe(true)
    expect((await denied.json()) as object).toHaveProperty("retryAfterMs")
    await fetch(`${url}/pass`)
    expect(await (await fetch(`${url}/pass`)).json()).toBe(false)
  })

  it("passes errors and rejections of onDenied to the error handler", async () => {
    const url = await serve((app) => {
      const throws = rateLimit({
        ...once,
        onDenied() {
          throw new Error("now")
        },
      })
      const rejects = rateLimit({ ...once, onDenied: () => Promise.reject(new Error("later")) })
      app.get("/now", throws, (_request, response) => void response.send("hello"))
      app.get("/later", rejects, (_request, response) => void response.send("hello"))
      app.use(((error, _request, response, _next) => {
        response.status(500).send((error as Error).message)
      }) as express.ErrorRequestHandler)
    })
    for (const path of ["now", "later"]) {
      await fetch(`${url}/${path}`)
      const failed = await fetch(`${url}/${path}`)
      expect([failed.status, await failed.text()]).toEqual([500, path])
    }
  })
})
