import { describe, expect, it } from "vitest"
import { enforcingPatch, examplePath, isFound, keyText, limitText, matchText } from "./rule.js"

describe("a rule in a few words", () => {
  it("tells which requests it matches", () => {
    expect(matchText({ match: { method: "POST", path: "/login" } })).toBe("POST /login")
    expect(matchText({ match: { method: ["GET", "HEAD"], host: "*.example.com", path: "/v1/**" } })).toBe(
      "GET, HEAD *.example.com/v1/**",
    )
    expect(matchText({ match: { header: { "x-beta": true }, tier: ["free", "pro"] } })).toBe(
      "header x-beta tier free,pro",
    )
    expect(
      matchText({ match: { domain: "edge", descriptor: [{ key: "path", value: "/v1/*" }, { key: "ip" }] } }),
    ).toBe("edge: path=/v1/*, ip")
    expect([matchText({}), matchText({ match: {} })]).toEqual([undefined, undefined])
  })

  it("tells its limits and its key", () => {
    expect(limitText({ limit: 5, window: "15m" })).toBe("5 / 15m")
    expect(limitText({ limit: 5, window: "day", timeZone: "Asia/Tokyo" })).toBe("5 / day (Asia/Tokyo)")
    expect(limitText({ name: "burst", limit: 5, window: 100 })).toBe("burst: 5 / 100ms")
    expect([keyText({}), keyText({ keyBy: ["user", "route"] })]).toEqual(["ip", "user + route"])
  })

  it("is found if the list shows every word of the search", () => {
    const rule = {
      id: "login",
      description: "Slow down password guessing",
      match: { method: "POST", path: "/Login" },
      limits: [{ algorithm: "gcra" as const, limit: 5, window: "15m" }],
    }
    for (const search of ["", "log", "GUESSING login", "15m gcra", "post /login", "enforce ip"])
      expect([search, isFound(rule, search)]).toEqual([search, true])
    for (const search of ["logout", "login get"])
      expect([search, isFound(rule, search)]).toEqual([search, false])
  })

  it("is enforced by a patch of what is in shadow mode, if anything is", () => {
    const limits = [{ limit: 5, window: "1m" }]
    const candidate = { limits: [{ limit: 3, window: "1m" }] }
    expect(enforcingPatch({ id: "a", mode: "shadow", limits })).toEqual({ mode: "enforce" })
    expect(enforcingPatch({ id: "a", limits, candidate })).toEqual({
      limits: candidate.limits,
      candidate: null,
    })
    expect([enforcingPatch({ id: "a", limits }), enforcingPatch({ id: "a", mode: "off", limits })]).toEqual([
      undefined,
      undefined,
    ])
  })

  it("has an example path", () => {
    expect(examplePath("/users/:id/files/*.png")).toBe("/users/id/files/.png")
    expect(examplePath("/v1/**")).toBe("/v1/anything")
  })
})
