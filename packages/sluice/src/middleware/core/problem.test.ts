import { describe, expect, it } from "vitest"
import { SluiceError } from "../../errors.js"
import { createLimiter } from "../../limiter/limiter.js"
import { ManualClock } from "../../testing/manual-clock.js"
import { denialProblem, errorProblem, problemBody, problemOf } from "./problem.js"

const QUOTA_EXCEEDED = "https://iana.org/assignments/http-problem-types#quota-exceeded"

describe("denialProblem", () => {
  it("says what was exceeded and how long to wait", () => {
    expect(denialProblem({ retryAfterMs: 11_000.001, deniedBy: "per-minute" }, { rule: "login" })).toEqual({
      type: QUOTA_EXCEEDED,
      title: "Too many requests",
      status: 429,
      detail: "Try again in 12 seconds.",
      "violated-policies": ["per-minute"],
      retryAfter: 12,
      retryAfterMs: 11_001,
      rule: "login",
    })
  })

  it("names each limit that denies, and no other", async () => {
    const clock = new ManualClock()
    const limiter = createLimiter({
      limits: [
        { limit: 1, window: "1m", name: "minute" },
        { limit: 1, window: "1h", name: "hour" },
        { limit: 9, window: "1d", name: "day" },
      ],
      clock,
    })
    await limiter.check("user:42")
    expect(denialProblem(await limiter.check("user:42"))["violated-policies"]).toEqual(["minute", "hour"])
    await limiter.close()
  })

  it("names no limit when the key is blocked", async () => {
    const clock = new ManualClock()
    const one = createLimiter({ limit: 5, window: "1m", clock })
    const several = createLimiter({
      limits: [
        { limit: 5, window: "1m" },
        { limit: 9, window: "1h" },
      ],
      clock,
    })
    for (const limiter of [one, several]) {
      await limiter.block("user:42", "10s")
      expect(denialProblem(await limiter.check("user:42"))).toMatchObject({
        "violated-policies": [],
        detail: "Try again in 10 seconds.",
      })
      await limiter.close()
    }
  })

  it("says never for a cost that never fits", () => {
    const problem = denialProblem({ retryAfterMs: Infinity, deniedBy: "5/1m" })
    expect(problem).toMatchObject({
      retryAfterMs: "never",
      detail: expect.stringContaining("can ever allow"),
    })
    expect(JSON.parse(problemBody(problem))).toEqual(problem)
  })

  it("reports reduced capacity when the store is down", () => {
    const problem = denialProblem({ retryAfterMs: 900, deniedBy: "5/1m", degraded: "deny" }, { status: 503 })
    expect(problem).toEqual({
      type: "https://iana.org/assignments/http-problem-types#temporary-reduced-capacity",
      title: "The rate limiter is not available",
      status: 503,
      detail: "No request can be allowed now. Try again in 1 second.",
      "violated-policies": [],
      retryAfter: 1,
      retryAfterMs: 900,
    })
    expect(denialProblem({ retryAfterMs: 900, deniedBy: "5/1m", degraded: "local" }).type).toBe(
      QUOTA_EXCEEDED,
    )
  })
})

describe("errorProblem", () => {
  it("carries the code and the message of an error", () => {
    const error = new SluiceError("COST_INVALID", {
      place: "cost",
      expected: "must be an integer ≥ 0",
      found: -1,
    })
    expect(errorProblem(error)).toEqual({
      type: "about:blank",
      title: "Bad Request",
      status: 400,
      code: "COST_INVALID",
      detail: "cost: must be an integer ≥ 0, got -1 [COST_INVALID]",
    })
    expect(errorProblem(error, 500)).toMatchObject({ status: 500, title: "Internal Server Error" })
  })
})

describe("problemOf", () => {
  it("has a title for every status", () => {
    expect(problemOf(404, "PATH_UNKNOWN", "nothing here").title).toBe("Not Found")
    expect(problemOf(418, "TEAPOT", "short and stout").title).toBe("Status 418")
  })
})

describe("problemBody", () => {
  it("escapes everything that a browser could run, and loses nothing", () => {
    const detail = `</script><img src=x onerror="alert('&')">\u2028\u2029\0`
    const body = problemBody(problemOf(400, "X", detail))
    expect(body).not.toMatch(/[<>&\u2028\u2029\0]/)
    expect(JSON.parse(body)).toMatchObject({ detail })
  })
})
