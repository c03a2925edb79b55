import { describe, expect, it } from "vitest"
import { listFrom, numberFrom, othersThan, textOfList, valueAt, withValue } from "./form-value.js"

const rule = {
  id: "a",
  match: { path: "/a" },
  limits: [
    { limit: 1, window: "1m" },
    { limit: 2, window: "1h" },
  ],
}

describe("the value of a form", () => {
  it("is copied by a change, and the old value stays", () => {
    const changed = withValue(rule, ["limits", 1, "limit"], 9)
    expect(valueAt(changed, ["limits", 1, "limit"])).toBe(9)
    expect(valueAt(rule, ["limits", 1, "limit"])).toBe(2)
    expect(Object.keys(changed)).toEqual(Object.keys(rule))
  })

  it("creates missing maps and lists, and removes empty ones", () => {
    expect(withValue({ id: "a" }, ["match", "method"], "GET")).toEqual({ id: "a", match: { method: "GET" } })
    expect(withValue({ id: "a" }, ["limits", 0, "limit"], 5)).toEqual({ id: "a", limits: [{ limit: 5 }] })
    expect(withValue(rule, ["match", "path"], undefined)).not.toHaveProperty("match")
    expect(withValue(rule, ["limits", 0], undefined).limits).toEqual([{ limit: 2, window: "1h" }])
    expect(withValue({ limits: [{ limit: 5 }] }, ["limits", 0, "limit"], undefined)).toEqual({ limits: [{}] })
  })

  it("finds nothing inside a value that is not a map", () => {
    expect(valueAt(rule, ["id", "x", "y"])).toBeUndefined()
    expect(valueAt({ limits: "unlimited" }, ["limits", 0, "limit"])).toBeUndefined()
  })

  it("reads digits as a number, and keeps other text for the service to report", () => {
    expect(["5", " 07 ", "", "5.5", "-1", "many", "1e3"].map(numberFrom)).toEqual([
      5,
      7,
      undefined,
      "5.5",
      "-1",
      "many",
      "1e3",
    ])
  })

  it("reads and writes lists", () => {
    expect([listFrom("GET, POST,"), listFrom(" GET "), listFrom(" , ")]).toEqual([
      ["GET", "POST"],
      "GET",
      undefined,
    ])
    expect([textOfList(["a", "b"]), textOfList("a"), textOfList(undefined)]).toEqual(["a, b", "a", ""])
  })

  it("names the fields that a form does not show", () => {
    const value = { ...rule, match: { path: "/a", header: { "x-a": true } }, tiers: { pro: "unlimited" } }
    expect(othersThan(value, ["id", "match.path", "limits"])).toEqual(["match.header", "tiers"])
    expect(othersThan(rule, ["id", "match", "limits"])).toEqual([])
  })
})
