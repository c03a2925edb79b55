// Decisions, headers and refunds, on every store.

import { parseRateLimit } from "ratelimit-header-parser"
import { parseList } from "structured-headers"
import { expect, it } from "vitest"
import { eventually } from "../../../../../test/support/eventually.js"
import { createLimiter } from "../../limiter/limiter.js"
import { createRuleEngine } from "../../rules/index.js"
import type { Store } from "../../stores/store.js"
import type { RequestDecision } from "../core/rate-limit-options.js"
import { answerByPath, EXACT, HELLO, type Open, statusAs, statuses } from "./adapter-app.test-support.js"

export function describeDecisions(open: Open, openStore: () => Promise<Store>): void {
  it("allows requests up to the limit, and responds 429 above it with a problem and retry-after", async () => {
    const url = await open({ limit: 2, ...EXACT, name: "hourly", store: await openStore() })
    expect(await statuses(url, 2)).toEqual([200, 200])
    const denied = await fetch(url)
    expect(denied.status).toBe(429)
    expect(denied.headers.get("content-type")).toMatch(/^application\/problem\+json/)
    const seconds = Number(denied.headers.get("retry-after"))
    expect(seconds).toBeGreaterThan(3_590)
    expect(seconds).toBeLessThanOrEqual(3_600)
    const problem = {
      status: 429,
      "violated-policies": ["hourly"],
      limit: 2,
      remaining: 0,
      retryAfter: seconds,
    }
    expect(await denied.json()).toMatchObject(problem)
  })

  it("limits each request by what an async limit function returns, and shows it", async () => {
    const limits = [1, 3, 3, 1]
    const url = await open({
      ...EXACT,
      limit: async () => limits.shift() ?? Infinity,
      store: await openStore(),
    })
    const seen: unknown[] = []
    for (let i = 0; i < 5; i++) {
      const { status, headers } = await fetch(url)
      seen.push([status, headers.get("x-ratelimit-limit"), headers.get("ratelimit-policy")])
    }
    expect(seen).toEqual([
      [200, "1", '"1h";q=1;w=3600'],
      [200, "3", '"1h";q=3;w=3600'],
      [200, "3", '"1h";q=3;w=3600'],
      [429, "1", '"1h";q=1;w=3600'],
      [200, null, null],
    ])
  })

  it("awaits an async body and an async requestWasSuccessful", async () => {
    const url = await open(
      {
        limit: 1,
        ...EXACT,
        store: await openStore(),
        body: async (_request, { limit }) => ({ error: "slow down", limit }),
        skipFailedRequests: true,
        requestWasSuccessful: async (_request, status) => status !== 404,
      },
      answerByPath,
    )
    expect((await fetch(`${url}/404`)).status).toBe(404)
    await eventually(async () => (await fetch(`${url}/500`)).status === 500)
    const denied = await fetch(url)
    expect([denied.status, await denied.json()]).toEqual([429, { error: "slow down", limit: 1 }])
  })

  it("shows the limit in legacy and draft headers on allowed and denied requests", async () => {
    const url = await open({ limit: 1, ...EXACT, name: "hourly", store: await openStore() })
    const passed = await fetch(url)
    expect(passed.headers.get("x-ratelimit-limit")).toBe("1")
    expect(passed.headers.get("x-ratelimit-remaining")).toBe("0")
    expect(passed.headers.get("ratelimit-policy")).toBe('"hourly";q=1;w=3600')
    expect(passed.headers.get("ratelimit")).toMatch(/^"hourly";r=0;t=\d+$/)
    expect(passed.headers.has("retry-after")).toBe(false)
    const denied = await fetch(url)
    expect(denied.headers.get("x-ratelimit-remaining")).toBe("0")
    expect(denied.headers.get("ratelimit")).toMatch(/^"hourly";r=0;t=\d+$/)
  })

  it.each(["legacy", "draft-6", "draft-7"] as const)(
    "sets %s headers as ratelimit-header-parser reads them",
    async (headers) => {
      const url = await open({ limit: 5, ...EXACT, headers, store: await openStore() })
      const info = parseRateLimit(await fetch(url))
      expect(info).toMatchObject({ limit: 5, remaining: 4 })
      const left = (info?.reset?.getTime() ?? 0) - Date.now()
      expect(Math.abs(left - 3_600_000)).toBeLessThan(5_000)
    },
  )

  it("sets draft headers that a parser of structured fields reads", async () => {
    const url = await open({ limit: 5, ...EXACT, name: "hourly", store: await openStore() })
    const { headers } = await fetch(url)
    const [policy] = parseList(headers.get("ratelimit-policy") ?? "")
    expect(policy).toEqual([
      "hourly",
      new Map([
        ["q", 5],
        ["w", 3600],
      ]),
    ])
    const [member] = parseList(headers.get("ratelimit") ?? "")
    expect(member).toEqual([
      "hourly",
      new Map([
        ["r", 4],
        ["t", 3600],
      ]),
    ])
  })

  it("passes the decision to the handler", async () => {
    const seen: (RequestDecision | undefined)[] = []
    const url = await open({ limit: 5, ...EXACT, cost: 2, store: await openStore() }, (_path, decision) => {
      seen.push(decision)
      return HELLO
    })
    await fetch(url)
    expect(seen).toMatchObject([{ allowed: true, limit: 5, remaining: 3 }])
  })

  it("counts each key separately, and a request without one by its address", async () => {
    const url = await open({ limit: 1, ...EXACT, keyBy: "header:x-client", store: await openStore() })
    expect(await statusAs(url, "a")).toBe(200)
    expect(await statusAs(url, "b")).toBe(200)
    expect(await statusAs(url, "a")).toBe(429)
    expect(await statuses(url, 2)).toEqual([200, 429])
  })

  it("awaits async functions for key, cost and skip", async () => {
    const store = await openStore()
    const limiter = createLimiter({ limit: 4, ...EXACT, store })
    const url = await open({ limiter, key: async () => "all", cost: async () => 2, skip: async () => false })
    expect(await statuses(url, 3)).toEqual([200, 200, 429])
    expect(await limiter.peek("all")).toMatchObject({ remaining: 0 })
  })

  it("refunds failed requests once with skipFailedRequests, and no others", async () => {
    const limiter = createLimiter({ limit: 10, ...EXACT, store: await openStore() })
    const url = await open({ limiter, key: () => "me", skipFailedRequests: true }, answerByPath)
    for (const path of ["/", "/", "/404", "/500", "/throw"]) await fetch(url + path)
    await eventually(async () => (await limiter.peek("me")).remaining === 8)
    await fetch(url)
    expect((await limiter.peek("me")).remaining).toBe(7)
  })

  it("refunds successful requests with skipSuccessfulRequests, and no others", async () => {
    const limiter = createLimiter({ limit: 10, ...EXACT, store: await openStore() })
    const url = await open({ limiter, key: () => "me", skipSuccessfulRequests: true }, answerByPath)
    for (const path of ["/404", "/throw", "/", "/"]) await fetch(url + path)
    await eventually(async () => (await limiter.peek("me")).remaining === 8)
  })

  it("decides several limits together and shows the tightest in headers with room for one", async () => {
    const limits = [
      { name: "burst", limit: 2, window: "1h", algorithm: "sliding-window-log" },
      { name: "day", limit: 9, window: "1d", algorithm: "sliding-window-log" },
    ] as const
    const url = await open({ limits, store: await openStore() })
    const first = await fetch(url)
    expect(first.headers.get("x-ratelimit-limit")).toBe("2")
    expect(first.headers.get("x-ratelimit-remaining")).toBe("1")
    expect(first.headers.get("ratelimit")).toMatch(/^"burst";r=1;t=\d+, "day";r=8;t=\d+$/)
    expect(await statuses(url, 2)).toEqual([200, 429])
    expect((await fetch(url)).headers.get("ratelimit")).toContain('"day";r=7')
  })

  it("shows the limits of two middlewares, and the tightest in headers with room for one", async () => {
    const store = await openStore()
    const url = await open([
      { name: "tight", limit: 2, ...EXACT, store, prefix: "one" },
      { name: "wide", limit: 50, ...EXACT, store, prefix: "two" },
    ])
    const first = await fetch(url)
    expect(first.headers.get("x-ratelimit-limit")).toBe("2")
    expect(first.headers.get("ratelimit")).toMatch(/^"tight";r=1;t=\d+, "wide";r=49;t=\d+$/)
    expect(first.headers.get("ratelimit-policy")).toBe('"tight";q=2;w=3600, "wide";q=50;w=3600')
    await fetch(url)
    const denied = await fetch(url)
    expect(denied.status).toBe(429)
    expect(denied.headers.get("ratelimit")).toMatch(/^"tight";r=0;t=\d+$/)
  })

  it("follows a rule engine, and sets no headers when no rule applies", async () => {
    const engine = createRuleEngine({
      rules: {
        version: 1,
        rules: [
          {
            id: "items",
            match: { path: "/items/**" },
            limits: [{ name: "hourly", limit: 1, ...EXACT }],
            response: { status: 503, body: { error: "busy", of: "{limit}", rule: "{rule}" } },
          },
        ],
      },
      store: await openStore(),
    })
    const seen: (RequestDecision | undefined)[] = []
    const url = await open({ engine }, (_path, decision) => {
      seen.push(decision)
      return HELLO
    })
    const passed = await fetch(`${url}/items/7?page=2`)
    expect(passed.headers.get("x-ratelimit-remaining")).toBe("0")
    const denied = await fetch(`${url}/items/7`)
    expect(denied.status).toBe(503)
    expect(await denied.json()).toEqual({ error: "busy", of: 1, rule: "items" })
    const other = await fetch(`${url}/other`)
    expect(other.status).toBe(200)
    expect(other.headers.has("x-ratelimit-limit")).toBe(false)
    expect(seen).toMatchObject([{ reason: "within-limits", rule: "items" }, { reason: "no-rule" }])
    await engine.close()
  })

  it("refunds by the status in a rule's refundOn, and keeps other charges", async () => {
    const rules = {
      version: 1 as const,
      rules: [{ id: "all", limits: [{ limit: 5, ...EXACT }], refundOn: ["5xx" as const, 404] }],
    }
    const engine = createRuleEngine({ rules, store: await openStore() })
    const url = await open({ engine }, answerByPath)
    for (const path of ["/503", "/404", "/403"]) await fetch(url + path)
    await eventually(async () => (await engine.peek({ ip: "127.0.0.1", path: "/" })).remaining === 4)
    await fetch(url)
    expect((await engine.peek({ ip: "127.0.0.1", path: "/" })).remaining).toBe(3)
    await engine.close()
  })

  it("refunds a failed request to the rules that charged it", async () => {
    const rules = { version: 1 as const, rules: [{ id: "all", limits: [{ limit: 3, ...EXACT }] }] }
    const engine = createRuleEngine({ rules, store: await openStore() })
    const url = await open({ engine, skipFailedRequests: true }, answerByPath)
    await fetch(`${url}/500`)
    await eventually(async () => (await engine.peek({ ip: "127.0.0.1", path: "/" })).remaining === 3)
    await fetch(url)
    expect((await engine.peek({ ip: "127.0.0.1", path: "/" })).remaining).toBe(2)
    await engine.close()
  })
}
