import { describe, expect, it } from "vitest"
import { formFrom, HeaderMistake, queryOf, questionOf } from "./request-form.js"

const form = formFrom(new URLSearchParams({ method: "POST", path: "/login?x=1", user: "42" }))

describe("a request to try", () => {
  it("is read from the address of the page, and written to it", () => {
    expect(form).toMatchObject({
      method: "POST",
      path: "/login?x=1",
      user: "42",
      ip: "203.0.113.7",
      host: "",
    })
    expect(formFrom(new URLSearchParams(queryOf(form)))).toEqual(form)
  })

  it("never writes secrets to an address, nor reads them from one", () => {
    const secret = { ...form, apiKey: "my-secret-key", headers: "authorization: my-secret-key" }
    expect(JSON.stringify(queryOf(secret))).not.toContain("my-secret-key")
    expect(formFrom(new URLSearchParams({ apiKey: "a", headers: "b: c" }))).toMatchObject({
      apiKey: "",
      headers: "",
    })
  })

  it("sends only the fields that are filled in", () => {
    expect(questionOf({ ...form, headers: "X-Plan: pro\n\nx-tag: a\nx-tag: b: c ", cost: "5" })).toEqual({
      method: "POST",
      path: "/login?x=1",
      ip: "203.0.113.7",
      user: "42",
      headers: { "X-Plan": "pro", "x-tag": ["a", "b: c"] },
      cost: 5,
    })
  })

  it("sends a cost that is not a number, for the service to report", () => {
    expect(questionOf({ ...form, cost: "-1" }).cost).toBe("-1")
  })

  it("names the line that is not a header", () => {
    expect(() => questionOf({ ...form, headers: "x-plan: pro\nnonsense" })).toThrow(
      new HeaderMistake("nonsense"),
    )
  })
})
