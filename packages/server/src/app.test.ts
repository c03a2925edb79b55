import { createLimiter, type Limiter } from "sluice"
import { ManualClock } from "sluice/testing"
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import { createApp } from "./app.js"
import { maxBodyBytes } from "./json-body.js"
import { type Service, startService } from "./service.js"

let clock: ManualClock
let limiter: Limiter
let service: Service
let errors: unknown[]

beforeEach(async () => {
  clock = new ManualClock()
  limiter = createLimiter({ limit: 2, window: "10s", algorithm: "sliding-window-log", clock })
  errors = []
  const app = createApp({ limiter, onError: (error) => errors.push(error) })
  service = await startService({ host: "127.0.0.1", port: 0, app })
})

afterEach(async () => {
  await service.close()
  await limiter.close()
})

function post(body: string, path = "/v1/check"): Promise<Response> {
  return fetch(service.url + path, { method: "POST", body })
}

function check(fields: object): Promise<Response> {
  return post(JSON.stringify(fields))
}

describe("POST /v1/check", () => {
  it("answers 200 with the whole decision while the key may pass", async () => {
    const response = await check({ key: "user:42" })
    expect(response.status).toBe(200)
    expect(response.headers.get("content-type")).toBe("application/json")
    expect(response.headers.get("cache-control")).toBe("no-store")
    expect(await response.json()).toMatchObject({
      allowed: true,
      limit: 2,
      remaining: 1,
      retryAfterMs: 0,
      resetAfterMs: 10_000,
      delayMs: 0,
    })
  })

  it("answers 429 with the decision and a Retry-After that is long enough", async () => {
    await check({ key: "user:42", cost: 2 })
    clock.advance(500)
    const denied = await check({ key: "user:42" })
    expect(denied.status).toBe(429)
    expect(await denied.json()).toMatchObject({ allowed: false, remaining: 0, retryAfterMs: 9500 })
    expect(denied.headers.get("retry-after")).toBe("10")

    clock.advance(Number(denied.headers.get("retry-after")) * 1000)
    expect((await check({ key: "user:42" })).status).toBe(200)
  })

  it("says limit, remaining and reset in headers, the reset rounded up to a second", async () => {
    const response = await check({ key: "user:42" })
    const { resetAt } = (await response.json()) as { resetAt: number }
    expect(response.headers.get("x-ratelimit-limit")).toBe("2")
    expect(response.headers.get("x-ratelimit-remaining")).toBe("1")
    expect(response.headers.get("x-ratelimit-reset")).toBe(String(Math.ceil(resetAt / 1000)))
  })

  it("says the numbers of the tightest of several limits, its own reset included", async () => {
    const several = createLimiter({
      clock,
      limits: [
        { name: "burst", limit: 2, window: "10s", algorithm: "sliding-window-log" },
        { name: "hourly", limit: 100, window: "1h", algorithm: "sliding-window-log" },
      ],
    })
    const other = await startService({
      host: "127.0.0.1",
      port: 0,
      app: createApp({ limiter: several, onError: (error) => errors.push(error) }),
    })
    const response = await fetch(`${other.url}/v1/check`, { method: "POST", body: '{"key":"user:42"}' })
    expect(response.headers.get("x-ratelimit-limit")).toBe("2")
    expect(response.headers.get("x-ratelimit-remaining")).toBe("1")
    expect(response.headers.get("x-ratelimit-reset")).toBe(String(Math.ceil((clock.now() + 10_000) / 1000)))
    await other.close()
    await several.close()
  })

  it("counts each key by itself", async () => {
    await check({ key: "a", cost: 2 })
    expect((await check({ key: "a" })).status).toBe(429)
    expect((await check({ key: "b" })).status).toBe(200)
  })

  it('says "never" for a cost that can never fit, without a Retry-After', async () => {
    const response = await check({ key: "user:42", cost: 3 })
    expect(response.status).toBe(429)
    expect(await response.json()).toMatchObject({ allowed: false, retryAfterMs: "never" })
    expect(response.headers.get("retry-after")).toBeNull()
  })

  it("charges nothing for cost 0", async () => {
    expect(await (await check({ key: "user:42", cost: 0 })).json()).toMatchObject({
      allowed: true,
      remaining: 2,
    })
  })

  it("decides exactly for many requests at once", async () => {
    const statuses = await Promise.all(
      Array.from({ length: 50 }, async () => (await check({ key: "k" })).status),
    )
    expect(statuses.filter((status) => status === 200)).toHaveLength(2)
    expect(statuses.filter((status) => status === 429)).toHaveLength(48)
  })
})

describe("a mistake in the request", () => {
  it.each([
    ["no body", "", "BODY_INVALID_JSON"],
    ["half a body", '{"key":', "BODY_INVALID_JSON"],
    ["an array", "[]", "BODY_NOT_OBJECT"],
    ["null", "null", "BODY_NOT_OBJECT"],
    ["a misspelled field", '{"key":"a","costs":1}', "BODY_UNKNOWN_FIELD"],
    ["no key", "{}", "KEY_INVALID"],
    ["an empty key", '{"key":""}', "KEY_INVALID"],
    ["a key that is a number", '{"key":42}', "KEY_INVALID"],
    ["a negative cost", '{"key":"a","cost":-1}', "COST_INVALID"],
    ["a fractional cost", '{"key":"a","cost":0.5}', "COST_INVALID"],
    ["a cost that is text", '{"key":"a","cost":"1"}', "COST_INVALID"],
    ["a cost of null", '{"key":"a","cost":null}', "COST_INVALID"],
  ])("gets 400 and a code: %s", async (_name, body, code) => {
    const response = await post(body)
    expect(response.status).toBe(400)
    expect(response.headers.get("content-type")).toBe("application/problem+json")
    expect(await response.json()).toMatchObject({
      status: 400,
      code,
      title: expect.any(String),
      detail: expect.any(String),
    })
    expect(errors).toEqual([])
  })

  it("gets 413 for a body over 64 KB, and the connection's next request is served", async () => {
    const response = await check({ key: "x".repeat(maxBodyBytes) })
    expect(response.status).toBe(413)
    expect(await response.json()).toMatchObject({ code: "BODY_TOO_LARGE" })
    expect((await check({ key: "user:42" })).status).toBe(200)
  })

  it("takes a body of exactly 64 KB", async () => {
    const empty = JSON.stringify({ key: "" }).length
    expect((await check({ key: "x".repeat(maxBodyBytes - empty) })).status).toBe(200)
  })

  it("gets 404 for a path that does not exist, however it is named", async () => {
    for (const path of ["/", "/v1", "/v1/check/", "/constructor", "/__proto__"]) {
      const response = await post("{}", path)
      expect(response.status).toBe(404)
      expect(await response.json()).toMatchObject({ code: "PATH_UNKNOWN" })
    }
  })

  it("gets 405 and the methods that would do", async () => {
    const response = await fetch(`${service.url}/v1/check`)
    expect(response.status).toBe(405)
    expect(response.headers.get("allow")).toBe("POST")
    expect(await response.json()).toMatchObject({ code: "METHOD_NOT_ALLOWED" })
  })
})

describe("GET /livez", () => {
  it("answers 200, also to HEAD and with a query", async () => {
    const response = await fetch(`${service.url}/livez?probe=1`)
    expect(response.status).toBe(200)
    expect(await response.json()).toEqual({ status: "ok" })
    expect((await fetch(`${service.url}/livez`, { method: "HEAD" })).status).toBe(200)
  })
})

it("answers 500 without a word about the cause, and reports the cause", async () => {
  const cause = new Error("a secret of the server")
  limiter.check = () => Promise.reject(cause)
  const response = await check({ key: "user:42" })
  expect(response.status).toBe(500)
  expect(await response.text()).not.toContain("secret")
  expect(errors).toEqual([cause])
})
