import { describe, expect, it } from "vitest"
import { compileTrustProxy, noProxies, type TrustProxy } from "./trust-proxy.js"

describe("compileTrustProxy", () => {
  it.each([false, 0] as const)("trusts no proxy with %s", (trust) => {
    expect(compileTrustProxy(trust)).toBe(noProxies)
    expect(noProxies.trusts("127.0.0.1", 0)).toBe(false)
  })

  it("trusts the given number of hops, whatever their addresses", () => {
    const { trusts } = compileTrustProxy(2)
    expect([0, 1, 2].map((hop) => trusts("198.51.100.1", hop))).toEqual([true, true, false])
  })

  it.each(["10.0.0.0/8, loopback", "10.0.0.0/8,loopback", ["10.0.0.0/8", "loopback"]])(
    "trusts the addresses in %j",
    (trust) => {
      const { trusts } = compileTrustProxy(trust)
      expect(["10.1.1.1", "127.0.0.1", "::1"].every((ip) => trusts(ip, 5))).toBe(true)
      expect(["11.0.0.1", "192.168.0.1", "", "unknown"].some((ip) => trusts(ip, 0))).toBe(false)
    },
  )

  it("asks a function for each address and its hop", () => {
    const { trusts } = compileTrustProxy((ip, hop) => ip === "10.0.0.1" && hop === 0)
    expect(trusts("10.0.0.1", 0)).toBe(true)
    expect(trusts("10.0.0.1", 1)).toBe(false)
  })

  it("refuses true and suggests what to write instead", () => {
    expect(() => compileTrustProxy(true as unknown as TrustProxy)).toThrow(
      'trustProxy: must say who is trusted: the number of proxies, or their addresses, like 1 or "10.0.0.0/8"; with true any client could pretend to be another, got true [TRUST_PROXY_INVALID]',
    )
  })

  it.each([-1, 1.5, Number.NaN, Infinity, null, undefined, {}])("refuses %s", (trust) => {
    expect(() => compileTrustProxy(trust as TrustProxy, { place: "app.trustProxy" })).toThrow(
      expect.objectContaining({ code: "TRUST_PROXY_INVALID", place: "app.trustProxy" }),
    )
  })

  it.each(["", "everybody", "10.0.0.0/8,"])("refuses %j as an address", (trust) => {
    expect(() => compileTrustProxy(trust)).toThrow(expect.objectContaining({ code: "CIDR_INVALID" }))
  })

  it("refuses a header other than the two supported ones", () => {
    expect(() => compileTrustProxy(1, { header: "x-real-ip" as "forwarded" })).toThrow(
      expect.objectContaining({ code: "OPTION_TYPE", place: "trustProxy.header" }),
    )
  })
})
