import { expect, it } from "vitest"
import type { Decision } from "../../decision.js"
import { deniedAnswer } from "./denied-answer.js"

const denied: Decision = {
  allowed: false,
  limit: 5,
  remaining: 0,
  used: 5,
  windowMs: 60_000,
  retryAfterMs: 1_500,
  resetAfterMs: 60_000,
  resetAt: 1_800_000_000_000,
  delayMs: 0,
  deniedBy: "login",
}

it("is a problem that names the limit and the exact wait", () => {
  const { status, contentType, body } = deniedAnswer({}, denied)
  expect([status, contentType]).toEqual([429, "application/problem+json"])
  expect(JSON.parse(body)).toMatchObject({ status: 429, "violated-policies": ["login"], retryAfterMs: 1_500 })
})

it("has the status of the response in the problem", () => {
  expect(JSON.parse(deniedAnswer({ status: 503 }, denied).body)).toMatchObject({ status: 503 })
})

it("is the body of the options, with their content type or the default", () => {
  expect(deniedAnswer({ body: "no" }, denied)).toEqual({
    status: 429,
    body: "no",
    contentType: "text/plain; charset=utf-8",
  })
  expect(deniedAnswer({ body: { a: 1 } }, denied)).toMatchObject({
    body: '{"a":1}',
    contentType: "application/json; charset=utf-8",
  })
  expect(deniedAnswer({ body: "<p>no</p>", contentType: "text/html" }, denied).contentType).toBe("text/html")
})
