import { describe, expect, it } from "vitest"
import { compileTrustProxy } from "../../request/address/trust-proxy.js"
import { AmbiguousKey, compileKeyBy, IpKeys, ipOf, type KeyBy } from "./request-key.js"
import type { RequestReader } from "./request-reader.js"

interface Asked {
  readonly peer?: string
  readonly own?: string
  readonly headers?: Record<string, string | string[]>
  readonly lines?: readonly string[]
}

const reader: RequestReader<Asked> = {
  method: () => "POST",
  target: () => "/items/7",
  headers: ({ headers = {} }) => headers,
  rawHeaders: ({ lines }) => lines,
  peer: ({ peer }) => peer,
  route: () => "/items/:id",
}

const ips = new IpKeys({ reader, trusted: undefined }, undefined)
const keyOf = (keyBy: KeyBy | readonly KeyBy[], asked: Asked) =>
  compileKeyBy(keyBy, reader, ips, true)(asked, asked.own)

describe("keyBy", () => {
  it.each<[KeyBy | readonly KeyBy[], Asked, string | undefined]>([
    ["ip", { peer: "203.0.113.7" }, "ip:203.0.113.7"],
    ["ip", { peer: "::ffff:203.0.113.7" }, "ip:203.0.113.7"],
    ["ip", { peer: "2001:db8:1:2:3::4" }, "ip:2001:db8:1:2::/64"],
    ["ip", {}, "ip:unknown"],
    ["ip", { peer: "no address" }, "ip:unknown"],
    ["user", { own: "42" }, "user:42"],
    ["user", { own: "" }, undefined],
    ["user", {}, undefined],
    ["method", {}, "method:POST"],
    ["host", { headers: { host: "API.example.com" } }, "host:api.example.com"],
    ["host", { headers: { host: "api.example.com.:8080" } }, "host:api.example.com"],
    ["host", {}, undefined],
    ["header:authorization", { headers: { authorization: "BASIC YTpi" } }, "header:authorization:Basic YTpi"],
    ["route", {}, "route:/items/:id"],
    ["global", {}, "global"],
    ["header:X-Tenant", { headers: { "x-tenant": "a" } }, "header:x-tenant:a"],
    ["header:x-tenant", { headers: { "x-tenant": " a\t" } }, "header:x-tenant:a"],
    ["header:x-tenant", { headers: { "x-tenant": " " } }, undefined],
    ["header:x-tenant", { headers: {} }, undefined],
    [["ip", "route"], { peer: "203.0.113.7" }, "ip:203.0.113.7,route:/items/:id"],
    [["ip", "user"], { peer: "203.0.113.7" }, undefined],
  ])("%o of %o is %s", (keyBy, asked, key) => {
    expect(keyOf(keyBy, asked)).toBe(key)
  })

  it.each<[KeyBy | readonly KeyBy[], Asked, string]>([
    ["header:x-tenant", { headers: { "x-tenant": ["a", "b"] } }, "header x-tenant must be given once"],
    ["header:x-tenant", { headers: { "x-tenant": "a, b" } }, "header x-tenant must be given once"],
    [
      ["ip", "header:x-tenant"],
      { headers: { "x-tenant": "a, b" }, lines: ["x-tenant", "a", "X-Tenant", "b"] },
      "header x-tenant must be given once",
    ],
    [
      "header:authorization",
      { headers: { authorization: "a" }, lines: ["authorization", "a", "authorization", "b"] },
      "header authorization must be given once",
    ],
    [
      "header:authorization",
      { headers: { authorization: "Bearer a b" } },
      "header authorization must be given in one spelling",
    ],
    ["host", { headers: { host: "a" }, lines: ["host", "a", "Host", "b"] }, "header host must be given once"],
  ])("%o of %o is ambiguous", (keyBy, asked, ambiguous) => {
    expect(keyOf(keyBy, asked)).toEqual(new AmbiguousKey(ambiguous))
  })

  it("escapes the separator inside values", () => {
    const parts = ["header:a", "header:b"] as const
    const one = keyOf(parts, { headers: { a: "x,header:b:y", b: "z" } })
    const two = keyOf(parts, { headers: { a: "x", b: "y,header:b:z" } })
    expect(one).not.toBe(two)
    expect(keyOf(parts, { headers: { a: "%2C", b: "z" } })).not.toBe(
      keyOf(parts, { headers: { a: ",", b: "z" } }),
    )
  })

  it.each(["apiKey", "header:", "header:a b", "ips", ""])("refuses %o", (word) => {
    expect(() => keyOf(word as KeyBy, {})).toThrow(expect.objectContaining({ code: "OPTION_TYPE" }))
    expect(() => keyOf([], {})).toThrow(expect.objectContaining({ place: "rateLimit.keyBy" }))
  })

  it("refuses user without the user option", () => {
    expect(() => compileKeyBy("user", reader, ips, false)).toThrow(
      expect.objectContaining({ code: "OPTION_MISSING", place: "rateLimit.user" }),
    )
  })
})

describe("the client's address", () => {
  const asked = {
    peer: "10.0.0.1",
    headers: { "x-forwarded-for": "203.0.113.9", forwarded: "for=203.0.113.8" },
  }
  const byFramework = { ...reader, ip: () => "198.51.100.1" }

  it("is the framework's own without trustProxy", () => {
    expect(ipOf({ reader: byFramework, trusted: undefined }, asked)).toBe("198.51.100.1")
    expect(ipOf({ reader: byFramework, trusted: compileTrustProxy(false) }, asked)).toBe("10.0.0.1")
  })

  it("comes only from the header that trusted proxies write", () => {
    expect(ipOf({ reader, trusted: compileTrustProxy(1) }, asked)).toBe("203.0.113.9")
    expect(ipOf({ reader, trusted: compileTrustProxy(1, { header: "forwarded" }) }, asked)).toBe(
      "203.0.113.8",
    )
  })

  it("stays correct when there are more clients than cached keys", () => {
    const keys = new IpKeys({ reader, trusted: undefined }, undefined)
    for (let i = 0; i < 10_000; i++) {
      const ip = `10.1.${i >> 8}.${i & 255}`
      expect(keys.keyOf({ peer: ip })).toBe(`ip:${ip}`)
    }
    expect(keys.keyOf({ peer: "10.1.0.0" })).toBe("ip:10.1.0.0")
  })
})
