// The options that applications bring along from other limiters: headers, the place of the decision, warnings.

import { expect, it } from "vitest"
import { memoryStore } from "../../stores/memory/memory-store.js"
import { EXACT, HELLO, type Open, statuses } from "./adapter-app.test-support.js"

export function describeHeaders(open: Open): void {
  it("says in retry-after from which time on a retry is allowed, if the options ask for a date", async () => {
    const url = await open({ limit: 1, ...EXACT, retryAfter: "http-date" })
    await fetch(url)
    const from = Math.floor((Date.now() + 3_590_000) / 1_000) * 1_000
    const denied = await fetch(url)
    const text = denied.headers.get("retry-after") ?? ""
    expect(text).toBe(new Date(text).toUTCString())
    expect(Date.parse(text)).toBeGreaterThanOrEqual(from)
    expect(Date.parse(text)).toBeLessThanOrEqual(Date.now() + 3_601_000)
    expect(await denied.json()).toMatchObject({ retryAfter: expect.any(Number) })
  })

  it("renames headers and leaves headers out", async () => {
    const url = await open({
      limit: 1,
      ...EXACT,
      headers: "legacy",
      headerNames: {
        "X-RateLimit-Limit": "X-Acme-Limit",
        "x-ratelimit-reset": false,
        "retry-after": "x-acme-wait",
      },
    })
    const names = async (): Promise<string[]> =>
      [...(await fetch(url)).headers.keys()].filter((name) => /ratelimit|acme|retry/.test(name)).sort()
    expect(await names()).toEqual(["x-acme-limit", "x-ratelimit-remaining"])
    expect(await names()).toEqual(["x-acme-limit", "x-acme-wait", "x-ratelimit-remaining"])
  })

  it("adds constant, numeric and computed headers to allowed and denied responses", async () => {
    const url = await open({
      limit: 1,
      ...EXACT,
      headers: "legacy",
      extraHeaders: {
        "X-Docs": "https://acme.example/limits",
        "x-version": 2,
        "x-allowed": (_request, { allowed }) => String(allowed),
        "x-ratelimit-reset": (_request, { resetAfterMs }) => Math.ceil(resetAfterMs / 1_000),
        "x-denied-by": (_request, { deniedBy }) => deniedBy,
      },
    })
    const seen: unknown[] = []
    for (let i = 0; i < 2; i++) {
      const { headers } = await fetch(url)
      const names = ["x-docs", "x-version", "x-allowed", "x-denied-by"]
      seen.push(names.map((name) => headers.get(name)))
      expect(Number(headers.get("x-ratelimit-reset"))).toBeLessThanOrEqual(3_600)
    }
    const docs = "https://acme.example/limits"
    expect(seen).toEqual([
      [docs, "2", "true", null],
      [docs, "2", "false", "1/1h"],
    ])
  })

  it("keeps the extra headers of every middleware that a request meets, also with the headers none", async () => {
    const url = await open([
      { limit: 9, ...EXACT, name: "first", headers: "none", extraHeaders: { "x-first": 1 } },
      { limit: 1, ...EXACT, name: "second", extraHeaders: { "x-second": 2 } },
    ])
    for (let i = 0; i < 2; i++) {
      const { headers } = await fetch(url)
      expect([headers.get("x-first"), headers.get("x-second")]).toEqual(["1", "2"])
      expect(headers.get("x-ratelimit-limit")).toBe("1")
    }
  })

  it("passes the error of an extra header that no response can have to the framework", async () => {
    const url = await open({ limit: 9, ...EXACT, extraHeaders: { "x-own": () => "a\r\nset-cookie: b" } })
    const failed = await fetch(url)
    expect(failed.status).toBe(500)
    expect(failed.headers.has("set-cookie")).toBe(false)
  })

  it("puts the decision into the property that the options name, and nowhere else", async () => {
    const seen: unknown[] = []
    const url = await open({ limit: 9, ...EXACT, requestProperty: "quota" }, (_path, decision, holder) => {
      seen.push(decision, (holder as { quota?: { remaining: number } }).quota?.remaining)
      return HELLO
    })
    await fetch(url)
    expect(seen).toEqual([undefined, 8])
  })

  it("awaits an async user", async () => {
    const url = await open({
      limit: 1,
      ...EXACT,
      keyBy: "user",
      user: async () => "ada",
      extraHeaders: { "x-left": (_request, { remaining }) => remaining },
    })
    expect(await statuses(url, 2)).toEqual([200, 429])
  })

  it("gives every warning to the logger", async () => {
    const lines: string[] = []
    const logger = { warn: (line: string) => void lines.push(line) }
    const store = memoryStore()
    const unexpected: Error[] = []
    const onWarning = (warning: Error): void => void unexpected.push(warning)
    process.on("warning", onWarning)
    const options = { limit: 9, window: 3_600, store, logger }
    const url = await open([
      { ...options, onDecision: () => Promise.reject(new Error("thrown on purpose")) },
      { ...options, limit: 9 },
    ])
    expect(await statuses(url, 1)).toEqual([200])
    await new Promise((resolve) => setImmediate(resolve))
    process.off("warning", onWarning)
    const codes = lines.map((line) => /\[(\w+)\]$/.exec(line)?.[1] ?? line)
    expect(new Set(codes)).toEqual(new Set(["OPTION_DOUBTFUL", "LIMITERS_UNNAMED", "thrown on purpose"]))
    expect(unexpected).toEqual([])
  })
}
