import { afterEach, describe, expect, it } from "vitest"
import { eventually } from "../../../../../test/support/eventually.js"
import { type TestCore, testCore, waitingStore } from "../../core.test-support.js"
import type { Admission, Limiting } from "./limiting.js"
import { createLimiting, type LimitingOptions } from "./limiting.js"

const cores: TestCore[] = []
afterEach(async () => {
  await Promise.all(cores.splice(0).map((core) => core.close()))
})

function start(
  rules: string,
  { store, ...options }: LimitingOptions & { store?: ReturnType<typeof waitingStore> } = {},
) {
  const core = testCore(`version: 1\n${rules}`, store === undefined ? {} : { store })
  cores.push(core)
  const limiting = createLimiting(core, { clock: core.clock, ...options })
  const left = async () => (await core.engine.peek(request)).remaining
  return { core, limiting, left }
}

const request = { method: "GET", host: "api.example", path: "/v1/items", ip: "203.0.113.7", headers: {} }

/** On a memory store nothing is waited for. */
function decided(limiting: Limiting, asked = request): Admission {
  const admission = limiting.decide(asked)
  if (admission instanceof Promise) throw new Error("a promise")
  return admission
}

const once = "rules: [{ id: api, limits: [{ limit: 1, window: 1m, algorithm: fixed-window }] }]"

describe("deciding", () => {
  it("decides synchronously in memory, notifies the observers, and sets the headers of the limit", () => {
    const { core, limiting } = start(once)
    const admission = decided(limiting)
    expect(admission).toMatchObject({ allowed: true, denied: undefined, delayMs: 0, mustSettle: false })
    const headers = admission.headers
    expect(headers[headers.indexOf("x-ratelimit-remaining") + 1]).toBe("0")
    expect(core.decided).toMatchObject([{ protocol: "gateway", decision: { allowed: true } }])
  })

  it("has a complete answer for a denied request: status, problem and retry-after", () => {
    const { limiting } = start(once)
    decided(limiting)
    const denied = decided(limiting)
    expect(denied.allowed).toBe(false)
    expect(denied.denied).toMatchObject({ status: 429, contentType: "application/problem+json" })
    const headers = denied.headers
    expect(headers[headers.indexOf("retry-after") + 1]).toBe("60")
  })

  it("awaits an asynchronous store", async () => {
    const { limiting } = start(once, { store: waitingStore() })
    const first = limiting.decide(request)
    expect(first).toBeInstanceOf(Promise)
    expect((await first).allowed).toBe(true)
    expect((await limiting.decide(request)).allowed).toBe(false)
  })

  it("allows a request, and reports the error, when the store throws", async () => {
    const errors: unknown[] = []
    const broken = new Error("broken on purpose")
    const store = { ...waitingStore(), check: () => Promise.reject(broken) }
    const { limiting } = start(once, { store, onError: (error) => errors.push(error) })
    const admission = await limiting.decide(request)
    expect(admission).toMatchObject({ allowed: true, decision: { degraded: "allow" } })
    expect(admission.headers).toEqual([])
    expect(errors).toEqual([broken])
  })
})

describe("one path and one client", () => {
  it("returns the canonical path, and follows a rule set that changes which paths it accepts", async () => {
    const { core, limiting } = start(once)
    expect(limiting.target("/v1//items/./x?q=%2F")).toEqual({ ok: true, path: "/v1/items/x", query: "q=%2F" })
    expect(limiting.target("/a%2Fb")).toMatchObject({ ok: false, reason: "slash" })
    const { document } = core.rules.current
    await core.rules.save({ ...document, identity: { encodedSlashes: "keep" } }, { by: "test" })
    expect(limiting.target("/a%2Fb")).toMatchObject({ ok: true, path: "/a%2Fb" })
  })

  it("trusts the proxies of the rule set, else those of the configuration, else none", async () => {
    const forwarded = { ...request, ip: "10.0.0.1", headers: { "x-forwarded-for": "198.51.100.4" } }
    const keyOf = (limiting: Limiting) => decided(limiting, forwarded).decision.rules[0]?.key
    expect(keyOf(start(once).limiting)).toBe("ip:10.0.0.1")
    const ours = start(once, { trustedProxies: ["10.0.0.0/8"] })
    expect(ours.limiting.trusted.trusts("10.0.0.1", 0)).toBe(true)
    expect(keyOf(ours.limiting)).toBe("ip:198.51.100.4")
    const theirs = start(`identity: { trustedProxies: [192.0.2.0/24] }\n${once}`, {
      trustedProxies: ["10.0.0.0/8"],
    })
    expect(theirs.limiting.trusted.trusts("10.0.0.1", 0)).toBe(false)
    expect(keyOf(theirs.limiting)).toBe("ip:10.0.0.1")
  })
})

describe("holding", () => {
  const queue =
    "rules: [{ id: slow, limits: [{ limit: 1, window: 1s, burst: 3, algorithm: leaky-bucket, overflow: queue }] }]"

  it("holds an admitted request until its turn", async () => {
    const { core, limiting } = start(queue)
    expect(decided(limiting).delayMs).toBe(0)
    const second = decided(limiting)
    expect(second.delayMs).toBe(1_000)
    const held = second.delay(new AbortController().signal)
    expect(limiting.held).toBe(1)
    core.clock.advance(1_000)
    expect(await held).toBe(true)
    expect(limiting.held).toBe(0)
  })

  it("frees the place of a client that disconnects, in the queue and in the bucket", async () => {
    const { limiting, left } = start(queue)
    decided(limiting)
    const gone = new AbortController()
    const held = decided(limiting).delay(gone.signal)
    expect(await left()).toBe(1)
    gone.abort()
    expect(await held).toBe(false)
    expect(limiting.held).toBe(0)
    await eventually(async () => (await left()) === 2)
  })

  it("lets later requests proceed earlier when a client disconnects", async () => {
    const { core, limiting, left } = start(queue.replace("burst: 3", "burst: 9"))
    const times: number[] = []
    const begun = core.clock.now()
    const hold = (admission: Admission, signal = new AbortController().signal) =>
      void admission.delay(signal).then((isDue) => (isDue ? times.push(core.clock.now() - begun) : undefined))
    decided(limiting)
    const gone = new AbortController()
    hold(decided(limiting), gone.signal)
    hold(decided(limiting))
    hold(decided(limiting))
    gone.abort()
    await eventually(() => limiting.held === 2)
    // The refund is in the background.
    await eventually(async () => (await left()) === 6)
    hold(decided(limiting))
    for (let i = 0; i < 60; i++) {
      core.clock.advance(100)
      await new Promise(setImmediate)
    }
    expect(times).toEqual([1_000, 2_000, 3_000])
  })

  it("denies a request when the queue is full, and refunds its charge", async () => {
    const { limiting, left } = start(queue, { maxHeld: 0 })
    expect(decided(limiting).allowed).toBe(true)
    const full = decided(limiting)
    expect(full).toMatchObject({ allowed: false, delayMs: 0, mustSettle: false })
    expect(full.denied?.status).toBe(429)
    await eventually(async () => (await left()) === 2)
  })
})

describe("settling", () => {
  const rules = `rules:
  - id: tokens
    limits: [{ limit: 100, window: 1m, algorithm: fixed-window }]
    cost: { responseHeader: x-tokens, estimate: 10 }
    refundOn: 5xx`

  it("takes the cost from the answer, and refunds requests that must not count", async () => {
    const { limiting, left } = start(rules)
    const first = decided(limiting)
    expect(first.mustSettle).toBe(true)
    first.settle(200, { "x-tokens": "40" })
    await eventually(async () => (await left()) === 60)
    decided(limiting).settle(502)
    await eventually(async () => (await left()) === 60)
    decided(limiting).settle(200, {}, { "x-tokens": "1" })
    await eventually(async () => (await left()) === 59)
  })

  it("settles once, whoever calls again", async () => {
    const { limiting, left } = start(rules)
    const admission = decided(limiting)
    admission.settle(200, { "x-tokens": "40" })
    admission.settle(500)
    await eventually(async () => (await left()) === 60)
    expect(admission.mustSettle).toBe(false)
  })

  it("reports a store that fails, and does not throw", async () => {
    const errors: unknown[] = []
    const store = { ...waitingStore(), settle: () => Promise.reject(new Error("away")) }
    const { limiting } = start(rules, { store, onError: (error) => errors.push(error) })
    ;(await limiting.decide(request)).settle(500)
    await eventually(() => errors.length === 1)
  })
})
