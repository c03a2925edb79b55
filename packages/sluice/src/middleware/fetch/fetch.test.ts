import { getEventListeners } from "node:events"
import { runInNewContext } from "node:vm"
import { getRequestListener } from "@hono/node-server"
import { type ModuleFormat, rolldown } from "rolldown"
import { describe, expect, expectTypeOf, it } from "vitest"
import { eventually } from "../../../../../test/support/eventually.js"
import { createLimiter } from "../../limiter/limiter.js"
import { listenOnLoopback } from "../../outgoing/loopback.test-support.js"
import { createRuleEngine } from "../../rules/index.js"
import { answerByPath } from "../suite/adapter-app.test-support.js"
import { type AdapterCase, describeAdapter } from "../suite/adapter-suite.test-support.js"
import {
  type FetchRateLimitOptions,
  type LimitedRequest,
  type RequestDecision,
  rateLimit,
  withRateLimit,
} from "./fetch.js"

type Handler = (request: LimitedRequest, info: unknown) => Response | Promise<Response>

/** Responds to errors: no framework does it here. */
function catching(handle: Handler): Handler {
  return async (request, info) => {
    try {
      return await handle(request, info)
    } catch {
      return new Response("failed", { status: 500 })
    }
  }
}

const start: AdapterCase["start"] = (limits, handler) => {
  let handle = catching(async (request) => {
    const { status, body } = await handler(new URL(request.url).pathname, request.rateLimit, request)
    return new Response(body, { status })
  })
  // The limit that is wrapped last runs first.
  for (const options of limits.toReversed()) handle = withRateLimit(handle, options)
  // The outer handler is for errors of the functions in the options.
  const answer = catching(handle)
  return listenOnLoopback(
    getRequestListener((request, info) => answer(request, info), { overrideGlobalObjects: false }),
  )
}
describeAdapter({ name: "fetch", start, resolvesDots: true })

const once = { limit: 1, window: "1h", algorithm: "sliding-window-log" } as const
const get = (path = "/", init: RequestInit = {}) => new Request(`http://a.example${path}`, init)

describe("withRateLimit", () => {
  it("passes on every argument, and the handler's error", async () => {
    const seen: unknown[] = []
    const handle = withRateLimit(
      (_request: Request, env: { name: string }, waiting: number) => {
        seen.push(env.name, waiting)
        throw new Error("mine")
      },
      { ...once, limit: 9 },
    )
    await expect(handle(get(), { name: "env" }, 7)).rejects.toThrow("mine")
    expect(seen).toEqual(["env", 7])
  })

  it("refunds a request whose handler threw, with skipFailedRequests", async () => {
    const limiter = createLimiter(once)
    const handle = withRateLimit(
      (request: Request) => {
        const { status, body } = answerByPath(new URL(request.url).pathname)
        return new Response(body, { status })
      },
      { limiter, key: () => "me", skipFailedRequests: true },
    )
    await expect(handle(get("/throw"))).rejects.toThrow("on purpose")
    expect((await limiter.peek("me")).remaining).toBe(1)
    expect((await handle(get("/200"))).status).toBe(200)
    expect((await handle(get("/200"))).status).toBe(429)
  })

  it("passes the typed decision on the handler's own request type", () => {
    class NextRequest extends Request {
      readonly nextUrl = new URL(this.url)
    }
    const handle = withRateLimit((request: LimitedRequest<NextRequest>) => {
      expectTypeOf(request.rateLimit).toEqualTypeOf<RequestDecision | undefined>()
      return new Response(request.nextUrl.pathname)
    }, once)
    expectTypeOf(handle).parameter(0).toEqualTypeOf<NextRequest>()
  })
})

describe("rateLimit", () => {
  it("returns a complete response for a denial", async () => {
    const limit = rateLimit(once)
    expect((await limit(get())).response).toBeUndefined()
    const { response, decision } = await limit(get())
    expect(decision?.allowed).toBe(false)
    expect(response?.status).toBe(429)
    expect(response?.headers.get("content-type")).toBe("application/problem+json")
    expect(response?.headers.get("retry-after")).toBe("3600")
    expect(await response?.json()).toMatchObject({ status: 429 })
  })

  it("sends the response of onDenied with the headers added", async () => {
    const onDenied = async () => Response.redirect("http://a.example/slow", 302)
    const limit = rateLimit({ ...once, onDenied })
    await limit(get())
    const { response } = await limit(get())
    expect(response?.status).toBe(302)
    expect(response?.headers.get("location")).toBe("http://a.example/slow")
    expect(response?.headers.get("retry-after")).toBe("3600")
  })

  it("adds its headers to the response, or to a copy if its headers are immutable", async () => {
    const limit = rateLimit({ ...once, limit: 9 })
    const { apply } = await limit(get())
    const plain = new Response("text", { status: 201 })
    expect(apply(plain)).toBe(plain)
    expect(plain.headers.get("x-ratelimit-remaining")).toBe("8")
    const copy = apply(await fetch("data:text/plain,fetched"))
    expect(copy.headers.get("x-ratelimit-remaining")).toBe("8")
    expect(await copy.text()).toBe("fetched")
  })

  it("returns a response unchanged that can be neither changed nor copied", async () => {
    const { apply } = await rateLimit(once)(get())
    const read = await fetch("data:text/plain,fetched")
    await read.text()
    expect(apply(read)).toBe(read)
  })

  it("shows the limits of two middlewares, in either order of apply", async () => {
    const outer = rateLimit({ ...once, limit: 9, name: "outer" })
    const inner = rateLimit({ ...once, limit: 5, name: "inner" })
    const request = get()
    const [a, b] = [await outer(request), await inner(request)]
    const both = /^"outer";r=8;t=\d+, "inner";r=4;t=\d+$/
    expect(a.apply(b.apply(new Response())).headers.get("ratelimit")).toMatch(both)
    expect(b.apply(a.apply(new Response())).headers.get("ratelimit")).toMatch(both)
  })

  it("adds nothing to a skipped request", async () => {
    const { response, decision, apply } = await rateLimit({ ...once, skip: () => true })(get())
    expect([response, decision]).toEqual([undefined, undefined])
    expect([...apply(new Response()).headers]).toEqual([])
  })

  it("settles only with the first ending", async () => {
    const limiter = createLimiter(once)
    const limit = rateLimit({ limiter, key: () => "me", skipFailedRequests: true })
    const { apply, settle } = await limit(get())
    apply(new Response())
    settle("error")
    expect((await limiter.peek("me")).remaining).toBe(0)
  })

  it("refunds a request whose client disconnects before the response, with skipFailedRequests", async () => {
    const limiter = createLimiter(once)
    const limit = rateLimit({ limiter, key: () => "me", skipFailedRequests: true })
    const client = new AbortController()
    await limit(get("/", { signal: client.signal }))
    expect((await limiter.peek("me")).remaining).toBe(0)
    client.abort()
    expect((await limiter.peek("me")).remaining).toBe(1)
  })

  it("refunds a request whose client disconnected before the decision", async () => {
    const limiter = createLimiter(once)
    const limit = rateLimit({ limiter, key: async () => "me", skipFailedRequests: true })
    await limit(get("/", { signal: AbortSignal.abort() }))
    expect((await limiter.peek("me")).remaining).toBe(1)
  })

  it("removes its listeners once the response is ready", async () => {
    const limit = rateLimit({ ...once, skipFailedRequests: true })
    const request = get()
    const { apply } = await limit(request)
    expect(getEventListeners(request.signal, "abort")).toHaveLength(1)
    apply(new Response())
    expect(getEventListeners(request.signal, "abort")).toEqual([])
  })

  it("passes method, host and path to rules, without query and fragment", async () => {
    const rule = (id: string, match: object) => ({ id, match, limits: [once] })
    const rules = [
      rule("items", { host: "a.example", path: "/items", method: "GET" }),
      rule("root", { host: "b.example", path: "/" }),
    ]
    const engine = createRuleEngine({ rules: { version: 1, rules } })
    const limit = rateLimit({ engine })
    const ruleFor = async (request: Request) => {
      const { decision } = await limit(request)
      return decision !== undefined && "rule" in decision ? decision.rule : undefined
    }
    expect(await ruleFor(get("/items?page=2#top"))).toBe("items")
    expect(await ruleFor(new Request("http://b.example"))).toBe("root")
    expect(await ruleFor(new Request("http://c.example/items"))).toBeUndefined()
    expect(await ruleFor(get("/items", { method: "POST" }))).toBeUndefined()
    await engine.close()
  })
})

describe("the client's address", () => {
  async function statusesOf(options: Partial<FetchRateLimitOptions>, ...calls: [Request, unknown?][]) {
    const limit = rateLimit({ ...once, ...options } as FetchRateLimitOptions)
    const seen: number[] = []
    for (const [request, info] of calls) seen.push((await limit(request, info)).response?.status ?? 200)
    return seen
  }

  it.each<[string, (ip: string) => unknown]>([
    [
      "Deno",
      (ip) => ({ remoteAddr: { transport: "tcp", hostname: ip, port: 1 }, completed: Promise.resolve() }),
    ],
    ["Bun", (ip) => ({ requestIP: () => ({ address: ip, family: "IPv4", port: 1 }) })],
    ["Node", (ip) => ({ incoming: { socket: { remoteAddress: ip } } })],
  ])("is what %s passes beside the request", async (_what, info) => {
    const [a, b] = [info("203.0.113.1"), info("203.0.113.2")]
    expect(await statusesOf({}, [get(), a], [get(), a], [get(), b])).toEqual([200, 429, 200])
  })

  it("comes from the option, which reads the request or what was passed beside it", async () => {
    const ip = (_request: Request, info: unknown) => (info as { address: string }).address
    const [a, b] = [{ address: "203.0.113.1" }, { address: "203.0.113.2" }]
    expect(await statusesOf({ ip }, [get(), a], [get(), a], [get(), b])).toEqual([200, 429, 200])
  })

  it("never comes from a header that any client can send", async () => {
    const as = (ip: string): [Request] => [
      get("/", { headers: { "cf-connecting-ip": ip, "x-real-ip": ip, "x-forwarded-for": ip } }),
    ]
    expect(await statusesOf({}, as("203.0.113.1"), as("203.0.113.2"))).toEqual([200, 429])
  })

  it.each([
    ["text"],
    [null],
    [{}],
    [{ server: null }],
    [{ incoming: null }],
    [{ remoteAddr: { hostname: 7 } }],
  ])("is unknown when %j is beside the request", async (info) => {
    expect(await statusesOf({}, [get(), info], [get()])).toEqual([200, 429])
  })
})

describe("invalid options", () => {
  it.each([
    [{ ...once, ip: "x" }, 'rateLimit.ip: must be a function, got "x" [OPTION_TYPE]'],
    [{ ...once, onDenied: {} }, "rateLimit.onDenied: must be a function, got an object [OPTION_TYPE]"],
    [{ ...once, windw: 1 }, "rateLimit.windw: does not exist; did you mean window? [OPTION_UNKNOWN]"],
    [null, "rateLimit: must be an object, got null [OPTION_TYPE]"],
  ])("are refused at creation: %j", (options, message) => {
    expect(() => rateLimit(options as never)).toThrow(message)
  })

  it("arguments in the wrong order are refused", () => {
    expect(() => withRateLimit(once as never, once)).toThrow("withRateLimit.handler: must be a function")
  })
})

describe("without Node", () => {
  async function bundle(entry: string, format: ModuleFormat): Promise<string> {
    const input = new URL(entry, import.meta.url).pathname
    const build = await rolldown({ input, platform: "neutral", external: /^[^./]/ })
    const { output } = await build.generate({ format, name: "sluice", codeSplitting: false })
    await build.close()
    return output[0].code
  }

  it.each(["./fetch.ts", "../hono.ts"])("%s imports nothing", async (entry) => {
    const code = await bundle(entry, "esm")
    expect(code).toContain("function rateLimit")
    expect(code).not.toMatch(/^import\b|\bimport\(|\brequire\(/m)
  })

  it("limits requests and outgoing calls in memory, without process and Buffer", async () => {
    const { Request, Response, Headers, URL, AbortSignal, AbortController, TextEncoder, btoa } = globalThis
    const { setInterval, clearInterval, setTimeout, clearTimeout, crypto } = globalThis
    const web = { Request, Response, Headers, URL, AbortSignal, AbortController, TextEncoder, btoa }
    const bare = { ...web, setInterval, clearInterval, setTimeout, clearTimeout, crypto }
    const answers = await runInNewContext(
      `${await bundle("./fetch.ts", "iife")}
      const handle = sluice.withRateLimit(() => new Response("hello"), { limit: 1, window: "1h" })
      const call = sluice.limitFetch(handle, { wait: async () => ({ allowed: true }), refund: async () => {} })
      const request = () => new Request("http://a.example/")
      call(request()).then(async (first) => [first.status, (await handle(request())).status])`,
      bare,
    )
    expect([...answers]).toEqual([200, 429])
  })
})

describe("a concurrency limit", () => {
  const ONE = { algorithm: "concurrency", limit: 1, hold: "1h", key: () => "me" } as const

  /** A handler whose body is as long as the test says. */
  function streaming(options: FetchRateLimitOptions = ONE) {
    let body!: ReadableStreamDefaultController<Uint8Array>
    const cancelled: unknown[] = []
    let pulls = 0
    const source = {
      start(controller: typeof body) {
        body = controller
      },
      pull() {
        pulls++
      },
      cancel: (reason: unknown) => void cancelled.push(reason),
    }
    const handle = withRateLimit(
      (request: Request) =>
        request.url.endsWith("/stream")
          ? new Response(new ReadableStream(source, { highWaterMark: 0 }), { headers: { "x-own": "1" } })
          : new Response(null, { status: 204 }),
      options,
    )
    const isFree = async () => (await handle(get())).status === 204
    return { handle, isFree, cancelled, controller: () => body, pulls: () => pulls }
  }

  it("holds its place until the body has been read to its end, and holds no part of it back", async () => {
    const { handle, isFree, controller, pulls } = streaming()
    const response = await handle(get("/stream"))
    expect(response.headers.get("x-own")).toBe("1")
    expect(response.headers.get("x-ratelimit-remaining")).toBe("0")
    const reader = (response.body as ReadableStream<Uint8Array>).getReader()
    expect(pulls()).toBe(0)
    const first = reader.read()
    controller().enqueue(new Uint8Array([1]))
    expect((await first).value).toEqual(new Uint8Array([1]))
    expect(await isFree()).toBe(false)
    const last = reader.read()
    controller().close()
    expect((await last).done).toBe(true)
    expect(await isFree()).toBe(true)
  })

  it("frees its place when the body is cancelled, and cancels that of the handler", async () => {
    const { handle, isFree, cancelled } = streaming()
    const response = await handle(get("/stream"))
    expect(await isFree()).toBe(false)
    await response.body?.cancel("enough")
    expect(cancelled).toEqual(["enough"])
    expect(await isFree()).toBe(true)
  })

  it("frees its place when the body fails, and passes the error on", async () => {
    const { handle, isFree, controller } = streaming()
    const response = await handle(get("/stream"))
    const text = response.text()
    controller().error(new Error("broken"))
    await expect(text).rejects.toThrow("broken")
    expect(await isFree()).toBe(true)
  })

  it("frees its place when the signal of the request aborts", async () => {
    const { handle, isFree } = streaming()
    const leaving = new AbortController()
    await handle(get("/stream", { signal: leaving.signal }))
    expect(await isFree()).toBe(false)
    leaving.abort()
    expect(await isFree()).toBe(true)
  })

  it("does not wait for a body that nobody sends", async () => {
    const { handle, isFree } = streaming()
    await handle(get("/stream", { method: "HEAD" }))
    expect(await isFree()).toBe(true)
  })

  it("counts rules alike", async () => {
    const limits = [{ algorithm: "concurrency", limit: 1, hold: "1h" }]
    const rules = { version: 1, rules: [{ id: "all", keyBy: "global", limits }] }
    const { handle, isFree } = streaming({ engine: createRuleEngine({ rules: rules as never }) })
    const response = await handle(get("/stream"))
    expect(await isFree()).toBe(false)
    await response.body?.cancel()
    expect(await isFree()).toBe(true)
  })

  it("frees its place when a client over HTTP goes away in the middle of the body", async () => {
    const { handle, isFree, cancelled, controller } = streaming()
    const app = await listenOnLoopback(getRequestListener(handle, { overrideGlobalObjects: false }))
    const leaving = new AbortController()
    const response = await fetch(`${app.url}/stream`, { signal: leaving.signal })
    controller().enqueue(new TextEncoder().encode("begun"))
    await response.body?.getReader().read()
    expect(await isFree()).toBe(false)
    leaving.abort()
    await eventually(isFree)
    expect(cancelled).toHaveLength(1)
    await app.close()
  })
})
