// The clock is advanced by hand, and `settle` lets pending promises run. Tests over a network are at the end.

import { getEventListeners } from "node:events"
import { createServer, type IncomingMessage, type RequestListener, type Server } from "node:http"
import type { AddressInfo } from "node:net"
import { afterEach, describe, expect, it, vi } from "vitest"
import { createLimiter } from "../limiter/limiter.js"
import type { LimiterOptions } from "../limiter/limiter-options.js"
import { ManualClock } from "../testing/manual-clock.js"
import type { LimitFetchOptions } from "./limit-fetch.js"
import { limitFetch } from "./limit-fetch.js"

// The first wait of a limiter imports this module; import it before, so that no test waits for it.
await import("../limiter/wait-queue.js")

async function settle(): Promise<void> {
  for (let i = 0; i < 5; i++) await new Promise((resolve) => setImmediate(resolve))
}

interface Answer {
  status?: number
  headers?: Record<string, string>
}

/** An API that gives these responses in turn, and then 200. */
function setUp(
  answers: Answer[] = [],
  options: LimitFetchOptions = {},
  limits: Partial<LimiterOptions> = {},
) {
  const clock = new ManualClock()
  const limiter = createLimiter({ limit: 1_000, window: "1s", ...limits, clock } as LimiterOptions)
  const start = clock.now()
  /** The calls that reached the API, with their times. */
  const sent: [call: string, ms: number][] = []
  const api = async (input: string | URL | Request, init?: RequestInit): Promise<Response> => {
    const { status = 200, headers = {} } = answers[sent.length] ?? {}
    const { pathname } = new URL(input instanceof Request ? input.url : input)
    sent.push([`${init?.method ?? "GET"} ${pathname}`, clock.now() - start])
    return new Response("answer", { status, headers })
  }
  const advance = async (ms: number): Promise<void> => {
    clock.advance(ms)
    await settle()
  }
  return { clock, limiter, sent, advance, call: limitFetch(api, limiter, { clock, ...options }) }
}

const URL_A = "https://a.example/a"
const URL_B = "https://b.example/b"
const bucket = { algorithm: "token-bucket", limit: 10, window: "1s", burst: 1 } as const

describe("the limiter", () => {
  it("sends a call at once while there is room", async () => {
    const { call, clock, sent } = setUp()
    expect(await (await call(URL_A)).text()).toBe("answer")
    expect(sent).toEqual([["GET /a", 0]])
    expect(clock.pending).toBe(0)
  })

  it("spaces the calls to one host, and does not delay those to another", async () => {
    const { call, sent, advance } = setUp([], {}, bucket)
    const calls = [call(URL_A), call(URL_A), call(URL_A), call(URL_B)]
    await settle()
    for (let i = 0; i < 3; i++) await advance(100)
    await Promise.all(calls)
    expect(sent).toEqual([
      ["GET /a", 0],
      ["GET /b", 0],
      ["GET /a", 100],
      ["GET /a", 200],
    ])
  })

  it("counts by the given key", async () => {
    const { call, sent, advance } = setUp([], { key: (c) => c.headers.get("x-tenant") ?? "none" }, bucket)
    const tenant = (name: string) => call(URL_A, { headers: { "x-tenant": name } })
    const calls = [tenant("a"), tenant("b"), tenant("a")]
    await settle()
    expect(sent).toHaveLength(2)
    await advance(100)
    await Promise.all(calls)
    expect(sent).toHaveLength(3)
  })

  it("charges the given cost, also from an async function", async () => {
    const cost = async ({ body }: { body?: unknown }) => JSON.parse(String(body)).tokens
    const { call, limiter } = setUp([], { cost, key: "llm" })
    await call(URL_A, { method: "POST", body: JSON.stringify({ tokens: 300 }) })
    expect((await limiter.peek("llm")).remaining).toBe(700)
  })

  it("responds 429 with the wait when a call could not be sent in time", async () => {
    const { call, sent } = setUp([], { maxWaitMs: 50 }, bucket)
    await call(URL_A)
    const response = await call(URL_A)
    expect(response.status).toBe(429)
    expect(response.headers.get("retry-after")).toBe("1")
    expect(response.headers.get("content-type")).toBe("application/problem+json")
    expect(await response.json()).toMatchObject({ status: 429, retryAfterMs: 100 })
    expect(sent).toHaveLength(1)
  })

  it("responds 429 without retry-after when the cost never fits", async () => {
    const { call, sent } = setUp([], { cost: 2 }, bucket)
    const response = await call(URL_A)
    expect([response.status, response.headers.get("retry-after")]).toEqual([429, null])
    expect(sent).toEqual([])
  })
})

describe("a pause that the API asks for", () => {
  it.each<[string, Answer]>([
    ["429 with seconds", { status: 429, headers: { "retry-after": "2" } }],
    ["429 with a date", { status: 429, headers: { "retry-after": "Thu, 01 Jan 2026 00:00:02 GMT" } }],
    ["503 with seconds", { status: 503, headers: { "retry-after": "2" } }],
    ["nothing left, draft 6", { headers: { "ratelimit-remaining": "0", "ratelimit-reset": "2" } }],
    ["nothing left, draft 7", { headers: { ratelimit: "limit=9, remaining=0, reset=2" } }],
    ["nothing left, draft 8", { headers: { ratelimit: '"m";r=0;t=2' } }],
    ["nothing left, legacy", { headers: { "x-ratelimit-remaining": "0", "x-ratelimit-reset": "2" } }],
  ])("delays further calls to that host, and no others: %s", async (_what, answer) => {
    const { call, sent, advance, clock } = setUp([answer])
    expect((await call(URL_A)).status).toBe(answer.status ?? 200)
    const held = [call(URL_A), call(URL_A)]
    await call(URL_B)
    await advance(1_999)
    expect(sent).toHaveLength(2)
    await advance(1)
    await Promise.all(held)
    expect(sent.slice(2)).toEqual([
      ["GET /a", 2_000],
      ["GET /a", 2_000],
    ])
    expect(clock.pending).toBe(0)
  })

  it("lasts a second when a 429 does not say how long", async () => {
    const { call, sent, advance } = setUp([{ status: 429 }])
    await call(URL_A)
    const held = call(URL_A)
    await advance(999)
    expect(sent).toHaveLength(1)
    await advance(1)
    await held
    expect(sent).toHaveLength(2)
  })

  it("is not shortened by another response", async () => {
    const clock = new ManualClock()
    const answers: ((response: Response) => void)[] = []
    const api = () => new Promise<Response>((resolve) => answers.push(resolve))
    const call = limitFetch(api, createLimiter({ limit: 9, window: "1s", clock }), { clock })
    const both = [call(URL_A), call(URL_A)]
    await settle()
    answers[0]?.(new Response(null, { status: 429, headers: { "retry-after": "9" } }))
    answers[1]?.(new Response(null, { status: 429, headers: { "retry-after": "1" } }))
    await Promise.all(both)
    void call(URL_A)
    await settle()
    clock.advance(8_999)
    await settle()
    expect(answers).toHaveLength(2)
    clock.advance(1)
    await settle()
    expect(answers).toHaveLength(3)
  })

  it("is followed by calls no faster than the limiter allows", async () => {
    const { call, sent, advance } = setUp([{ status: 429, headers: { "retry-after": "2" } }], {}, bucket)
    await call(URL_A)
    const held = [call(URL_A), call(URL_A), call(URL_A)]
    await advance(2_000)
    await advance(100)
    await advance(100)
    await Promise.all(held)
    expect(sent.map(([, ms]) => ms)).toEqual([0, 2_000, 2_100, 2_200])
  })

  it("delays a call that waited for the limiter, and refunds its charge", async () => {
    let release = (_response: Response) => {}
    const clock = new ManualClock()
    const limiter = createLimiter({ ...bucket, clock })
    const sent: number[] = []
    const slow = () => {
      sent.push(clock.now())
      return sent.length === 1
        ? new Promise<Response>((resolve) => {
            release = resolve
          })
        : Promise.resolve(new Response())
    }
    const call = limitFetch(slow, limiter, { clock })
    const first = call(URL_A)
    const second = call(URL_A)
    await settle()
    // The response arrives at the moment at which the limiter allows the second call.
    release(new Response(null, { status: 429, headers: { "retry-after": "5" } }))
    clock.advance(100)
    await first
    await settle()
    expect(sent).toHaveLength(1)
    expect((await limiter.peek("a.example")).remaining).toBe(1)
    clock.advance(5_000)
    await second
    expect(sent).toHaveLength(2)
  })

  it("makes a call that cannot wait so long return 429 with the rest of the pause", async () => {
    const { call, sent, advance } = setUp([{ status: 429, headers: { "retry-after": "10" } }], {
      maxWaitMs: 5_000,
    })
    await call(URL_A)
    await advance(4_000)
    const response = await call(URL_A)
    expect([response.status, response.headers.get("retry-after")]).toEqual([429, "6"])
    expect(sent).toHaveLength(1)
  })
})

describe("retries", () => {
  const busy = { status: 429, headers: { "retry-after": "1" } }
  const ill = { status: 503, headers: { "retry-after": "1" } }

  it("are off by default", async () => {
    const { call, sent } = setUp([busy])
    expect((await call(URL_A)).status).toBe(429)
    expect(sent).toHaveLength(1)
  })

  it("repeat the call when the pause is over, and return the first other response", async () => {
    const { call, sent, advance } = setUp([busy, ill], { retries: 3 })
    const response = call(URL_A)
    await settle()
    await advance(1_000)
    await advance(1_000)
    expect((await response).status).toBe(200)
    expect(sent.map(([, ms]) => ms)).toEqual([0, 1_000, 2_000])
  })

  it("end at their number, with the API's last response unread", async () => {
    const { call, sent, advance } = setUp([busy, busy, busy, busy], { retries: 2 })
    const response = call(URL_A)
    await settle()
    for (let i = 0; i < 3; i++) await advance(1_000)
    expect((await response).status).toBe(429)
    expect(await (await response).text()).toBe("answer")
    expect(sent).toHaveLength(3)
  })

  it("double the pause each time when a 429 does not say how long", async () => {
    const { call, sent, advance } = setUp([{ status: 429 }, { status: 429 }], { retries: 2 })
    const response = call(URL_A)
    await settle()
    await advance(1_000)
    await advance(1_999)
    expect(sent).toHaveLength(2)
    await advance(1)
    await response
    expect(sent.map(([, ms]) => ms)).toEqual([0, 1_000, 3_000])
  })

  it("are not tried past maxWaitMs; the API's response is returned", async () => {
    const { call, clock } = setUp([busy], { retries: 1, maxWaitMs: 999 })
    const response = await call(URL_A)
    expect([response.status, await response.text()]).toEqual([429, "answer"])
    expect(clock.pending).toBe(0)
  })

  it.each<[string, Answer, RequestInit, sent: number]>([
    ["a POST that was refused by 429", busy, { method: "POST", body: "text" }, 2],
    ["a POST that met 503, which may have been carried out", ill, { method: "POST", body: "text" }, 1],
    ["a PUT that met 503", ill, { method: "put", body: new URLSearchParams("a=b") }, 2],
    ["bytes", busy, { method: "POST", body: new Uint8Array(3) }, 2],
    ["a form", busy, { method: "POST", body: new FormData() }, 2],
    ["a stream, which is gone", busy, { method: "POST", body: new Blob(["text"]).stream() }, 1],
    ["a 503 that does not say when", { status: 503 }, {}, 1],
    ["an error of another kind", { status: 500, headers: { "retry-after": "1" } }, {}, 1],
  ])("repeat only calls that can be repeated: %s", async (_what, answer, init, times) => {
    const { call, sent, advance } = setUp([answer], { retries: 1 })
    const response = call(URL_A, init)
    await settle()
    await advance(1_000)
    await response
    expect(sent).toHaveLength(times)
  })

  it("repeat a Request only if it has no body", async () => {
    const bare = setUp([busy], { retries: 1 })
    const response = bare.call(new Request(URL_A))
    await settle()
    await bare.advance(1_000)
    expect((await response).status).toBe(200)
    const full = setUp([busy], { retries: 1 })
    expect((await full.call(new Request(URL_A, { method: "POST", body: "text" }))).status).toBe(429)
  })
})

describe("an abort", () => {
  it("ends the wait for the limiter with its reason, and leaves no timer and no listener", async () => {
    const { call, clock, sent } = setUp([], {}, bucket)
    await call(URL_A)
    const abort = new AbortController()
    const waiting = call(URL_A, { signal: abort.signal })
    await settle()
    expect(clock.pending).toBe(1)
    abort.abort(new Error("enough"))
    await expect(waiting).rejects.toThrow("enough")
    expect(clock.pending).toBe(0)
    expect(getEventListeners(abort.signal, "abort")).toEqual([])
    expect(sent).toHaveLength(1)
  })

  it("ends the wait for a pause with its reason, and leaves no timer and no listener", async () => {
    const { call, clock, sent, limiter } = setUp([{ status: 429, headers: { "retry-after": "60" } }])
    await call(URL_A)
    const abort = new AbortController()
    const waiting = call(new Request(URL_A, { signal: abort.signal }))
    await settle()
    expect(clock.pending).toBe(1)
    abort.abort(new Error("enough"))
    await expect(waiting).rejects.toThrow("enough")
    expect(clock.pending).toBe(0)
    expect(sent).toHaveLength(1)
    expect((await limiter.peek("a.example")).remaining).toBe(999)
  })

  it("before the call sends and charges nothing", async () => {
    const { call, sent, limiter } = setUp()
    await expect(call(URL_A, { signal: AbortSignal.abort(new Error("never")) })).rejects.toThrow("never")
    expect(sent).toEqual([])
    expect((await limiter.peek("a.example")).remaining).toBe(1_000)
  })

  it("has no listener after a pause has ended", async () => {
    const { call, advance } = setUp([{ status: 429, headers: { "retry-after": "1" } }])
    await call(URL_A)
    const abort = new AbortController()
    const waiting = call(URL_A, { signal: abort.signal })
    await settle()
    await advance(1_000)
    await waiting
    expect(getEventListeners(abort.signal, "abort")).toEqual([])
  })
})

describe("invalid options", () => {
  const limiter = createLimiter({ limit: 1, window: "1s" })
  const make = (options: object) => () => limitFetch(fetch, limiter, options as LimitFetchOptions)

  it.each([
    [{ retrys: 1 }, "limitFetch.retrys: does not exist; did you mean retries? [OPTION_UNKNOWN]"],
    [{ retries: -1 }, "limitFetch.retries: must be an integer ≥ 0, got -1 [OPTION_TYPE]"],
    [{ maxWaitMs: "1s" }, 'limitFetch.maxWaitMs: must be milliseconds ≥ 0, got "1s" [OPTION_TYPE]'],
    [{ key: "" }, 'limitFetch.key: must be a string or a function, got "" [OPTION_TYPE]'],
    [
      { cost: 0.5 },
      "limitFetch.cost: must be an integer ≥ 0, a function or an object, got 0.5 [OPTION_TYPE]",
    ],
    [{ clock: {} }, "limitFetch.clock: must be a clock with now(), got an object [OPTION_TYPE]"],
  ])("are refused: %j", (options, message) => {
    expect(make(options)).toThrow(message)
  })

  it("are refused among the arguments", () => {
    expect(() => limitFetch(undefined as never, limiter)).toThrow(
      "limitFetch.fetch: must be a fetch function",
    )
    expect(() => limitFetch(fetch, {} as never)).toThrow("limitFetch.limiter: must be a limiter")
  })

  it("in the URL throw the error of fetch", async () => {
    await expect(limitFetch(fetch, limiter)("not a url")).rejects.toThrow(TypeError)
  })
})

describe("over real HTTP", () => {
  const servers: Server[] = []

  afterEach(async () => {
    for (const server of servers.splice(0)) {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    }
  })

  async function serve(listener: RequestListener): Promise<string> {
    const server = createServer(listener)
    servers.push(server)
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  }

  const read = (request: IncomingMessage): Promise<string> =>
    new Promise((resolve) => {
      let text = ""
      request.setEncoding("utf8")
      request.on("data", (chunk) => {
        text += chunk
      })
      request.on("end", () => resolve(text))
    })

  it("repeats a refused POST with its whole body, at the time the API named", async () => {
    const arrived: { body: string; at: number }[] = []
    const url = await serve(async (request, response) => {
      arrived.push({ body: await read(request), at: performance.now() })
      if (arrived.length === 1) response.writeHead(429, { "retry-after-ms": "200" })
      response.end("done")
    })
    const call = limitFetch(fetch, createLimiter({ limit: 100, window: "1s" }), { retries: 1 })
    const response = await call(url, { method: "POST", body: "a whole body" })
    expect([response.status, await response.text()]).toEqual([200, "done"])
    expect(arrived.map(({ body }) => body)).toEqual(["a whole body", "a whole body"])
    // By this clock, timers may fire a millisecond early.
    expect(arrived[1]!.at - arrived[0]!.at).toBeGreaterThanOrEqual(198)
  })

  it("never sends more in any window than the limiter allows", async () => {
    const arrived: number[] = []
    const url = await serve((_request, response) => {
      arrived.push(performance.now())
      response.end()
    })
    const limiter = createLimiter({ algorithm: "leaky-bucket", overflow: "queue", limit: 100, window: "1s" })
    const call = limitFetch(fetch, limiter)
    const started = performance.now()
    await Promise.all(Array.from({ length: 20 }, () => call(url).then((response) => response.text())))
    expect(arrived).toHaveLength(20)
    expect(performance.now() - started).toBeGreaterThanOrEqual(188)
  })

  it("aborts a call that is on its way, as fetch does", async () => {
    const abort = new AbortController()
    const closed = vi.fn()
    const url = await serve((request) => {
      request.once("close", closed)
      abort.abort()
    })
    const call = limitFetch(fetch, createLimiter({ limit: 100, window: "1s" }))
    await expect(call(url, { signal: abort.signal })).rejects.toMatchObject({ name: "AbortError" })
    await vi.waitFor(() => expect(closed).toHaveBeenCalled())
  })
})
