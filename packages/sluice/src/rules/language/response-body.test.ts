import { describe, expect, it } from "vitest"
import { filledBody, problemOfBody } from "./response-body.js"

const values = { limit: 5, remaining: 0, retryAfter: 12, rule: "login" }

describe("the body of a denial", () => {
  it("has the numbers of the decision and the rule in place of placeholders", () => {
    const text = "{rule}: {remaining} of {limit}, again in {retryAfter} s"
    expect(filledBody(text, values, undefined)).toBe("login: 0 of 5, again in 12 s")
  })

  it("has numbers in JSON where a member is nothing but a placeholder", () => {
    const body = {
      error: "wait {retryAfter} s",
      retryAfter: "{retryAfter}",
      in: [{ limit: "{limit}" }],
      rule: "{rule}",
    }
    expect(JSON.parse(filledBody(body, values, undefined))).toEqual({
      error: "wait 12 s",
      retryAfter: 12,
      in: [{ limit: 5 }],
      rule: "login",
    })
  })

  it("keeps doubled braces as single ones, and all other braces", () => {
    const text = '{"a": {"b": 1}, "c": "{{limit}}", "d": {}, "e": { limit }}'
    expect(filledBody(text, values, undefined)).toBe(
      '{"a": {"b": 1}, "c": "{limit}", "d": {}, "e": { limit }}',
    )
  })

  it("is valid JSON also if waiting does not help", () => {
    const never = { ...values, retryAfter: undefined }
    expect(filledBody("again: {retryAfter}", never, "text/plain")).toBe("again: never")
    expect(filledBody('{"again": {retryAfter}}', never, "application/json")).toBe('{"again": null}')
    expect(filledBody({ again: "{retryAfter}" }, never, undefined)).toBe('{"again":null}')
  })

  it("does not read what it inserted", () => {
    expect(filledBody("{{{limit}}}", values, undefined)).toBe("{{limit}}")
  })
})

describe("a problem of a body", () => {
  it("is a placeholder that does not exist, wherever it stands", () => {
    expect(problemOfBody("wait {retry} s")).toMatch(/unknown placeholder \{retry\}; known are \{limit\}/)
    expect(problemOfBody({ a: [{ b: "{toString}" }] })).toContain("{toString}")
    expect(problemOfBody("{{retry}} {limit} { x } {}")).toBeUndefined()
  })

  it("is a placeholder without quotes, which YAML reads as a map", () => {
    expect(problemOfBody({ again: { retryAfter: null } })).toContain('"{retryAfter}" in quotes')
  })

  it("is found at any depth", () => {
    let body: unknown = "{nothing}"
    for (let i = 0; i < 100_000; i++) body = [body]
    expect(problemOfBody(body)).toContain("{nothing}")
  })
})
