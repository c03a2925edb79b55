import { describe, expect, it } from "vitest"
import { clientIp, type ForwardedHeaders, forwardedFacts } from "./client-ip.js"
import { compileTrustProxy, type ProxyHeader, type TrustProxy } from "./trust-proxy.js"

function trusting(trust: TrustProxy, header: ProxyHeader = "x-forwarded-for") {
  return compileTrustProxy(trust, { header })
}

const inside = ["10.0.0.0/8"]

describe("clientIp", () => {
  it("is the peer address without trusted proxies, whatever the headers claim", () => {
    const claims = { xForwardedFor: "198.51.100.1", forwarded: "for=198.51.100.1" }
    expect(clientIp({ peer: "203.0.113.7", ...claims })).toBe("203.0.113.7")
    expect(clientIp({ peer: "::ffff:203.0.113.7", ...claims }, trusting(false))).toBe("203.0.113.7")
  })

  it.each([undefined, "", "unknown"])("is undefined without an address: %s", (peer) => {
    expect(clientIp({ peer })).toBeUndefined()
    expect(clientIp({ peer, xForwardedFor: "198.51.100.1" }, trusting(inside))).toBeUndefined()
  })

  it.each([
    ["203.0.113.7", "203.0.113.7"],
    ["198.51.100.1, 203.0.113.7", "203.0.113.7"],
    ["198.51.100.1, 203.0.113.7, 10.0.0.2, 10.0.0.3", "203.0.113.7"],
    ["10.0.0.4, 10.0.0.2", "10.0.0.4"],
    ["203.0.113.7:4711", "203.0.113.7"],
    ["[2001:db8::7]:4711,10.0.0.2", "2001:db8::7"],
    ["", "10.0.0.1"],
    ["unknown", "10.0.0.1"],
    ["203.0.113.7, unknown, 10.0.0.2", "10.0.0.2"],
    ["203.0.113.7,, 10.0.0.2", "10.0.0.2"],
    ["203.0.113.7,", "10.0.0.1"],
  ])("walks X-Forwarded-For: %j from the right through trusted proxies", (xForwardedFor, ip) => {
    expect(clientIp({ peer: "10.0.0.1", xForwardedFor }, trusting(inside))).toBe(ip)
  })

  it.each([
    ["for=203.0.113.7", "203.0.113.7"],
    ['for=198.51.100.1, for="203.0.113.7:80";proto=https', "203.0.113.7"],
    ['for=198.51.100.1,for="[2001:db8::7]:4711", for=10.0.0.2;by=10.0.0.1', "2001:db8::7"],
    ["for=203.0.113.7, for=_hidden, for=10.0.0.2", "10.0.0.2"],
    ["for=203.0.113.7, proto=https", "10.0.0.1"],
    ["for=203.0.113.7, for=a b", "10.0.0.1"],
    ['for="203.0.113.7', "10.0.0.1"],
    ["203.0.113.7", "10.0.0.1"],
  ])("walks Forwarded: %s from the right through trusted proxies", (forwarded, ip) => {
    expect(clientIp({ peer: "10.0.0.1", forwarded }, trusting(inside, "forwarded"))).toBe(ip)
  })

  it("never reads the header that was not configured", () => {
    expect(clientIp({ peer: "10.0.0.1", forwarded: "for=203.0.113.7" }, trusting(inside))).toBe("10.0.0.1")
    expect(clientIp({ peer: "10.0.0.1", xForwardedFor: "203.0.113.7" }, trusting(inside, "forwarded"))).toBe(
      "10.0.0.1",
    )
  })

  it.each([
    [1, "198.51.100.2"],
    [2, "198.51.100.1"],
    [3, "203.0.113.7"],
    [9, "203.0.113.7"],
  ])("goes back %i hops if configured so", (hops, ip) => {
    const xForwardedFor = "203.0.113.7, 198.51.100.1, 198.51.100.2"
    expect(clientIp({ peer: "198.51.100.3", xForwardedFor }, trusting(hops))).toBe(ip)
  })

  it("trusts a proxy on a Unix socket with one trusted hop", () => {
    expect(clientIp({ peer: undefined, xForwardedFor: "203.0.113.7" }, trusting(1))).toBe("203.0.113.7")
    expect(clientIp({ peer: undefined, xForwardedFor: "unknown" }, trusting(1))).toBeUndefined()
  })

  it("trusts every address only if configured so", () => {
    const everybody = trusting(() => true)
    expect(clientIp({ peer: "198.51.100.3", xForwardedFor: "203.0.113.7, 198.51.100.1" }, everybody)).toBe(
      "203.0.113.7",
    )
  })

  it("passes canonical addresses and their hops to a trust function", () => {
    const seen: [string, number][] = []
    const trust = trusting((ip, hop) => {
      seen.push([ip, hop])
      return true
    })
    clientIp({ peer: "::ffff:10.0.0.1", xForwardedFor: "203.0.113.7, [2001:DB8::1]:80" }, trust)
    expect(seen).toEqual([
      ["10.0.0.1", 0],
      ["2001:db8::1", 1],
    ])
  })
})

describe("forwardedFacts", () => {
  const headers: ForwardedHeaders = {
    peer: "10.0.0.1",
    xForwardedFor: "198.51.100.1, 203.0.113.7",
    xForwardedProto: "ws, http, HTTPS",
    xForwardedHost: "evil.example, other.example, API.example.com:8443",
    xForwardedMethod: "POST",
    xForwardedUri: "/login?x=1",
    forwarded: 'for=198.51.100.1;host=evil.example, for=203.0.113.7;proto=https;host="api.example.com"',
  }

  it("returns what a trusted proxy sent, and the last of several values", () => {
    expect(forwardedFacts(headers, trusting(inside))).toEqual({
      ip: "203.0.113.7",
      proto: "https",
      host: "api.example.com:8443",
      method: "POST",
      uri: "/login?x=1",
    })
  })

  it("takes proto and host from the element of Forwarded that named the client", () => {
    const forwarded = `${headers.forwarded}, for=10.0.0.2;proto=http;host=inner`
    expect(forwardedFacts({ ...headers, forwarded }, trusting(inside, "forwarded"))).toMatchObject({
      ip: "203.0.113.7",
      proto: "https",
      host: "api.example.com",
    })
  })

  it.each([false, inside] as const)("returns only the address of an untrusted peer: %s", (trust) => {
    expect(forwardedFacts({ ...headers, peer: "203.0.113.9" }, trusting(trust))).toEqual({
      ip: "203.0.113.9",
      proto: undefined,
      host: undefined,
      method: undefined,
      uri: undefined,
    })
  })

  it.each([
    ["xForwardedHost", "a b"],
    ["xForwardedHost", "evil.example/x"],
    ["xForwardedHost", "user@host"],
    ["xForwardedHost", ""],
    ["xForwardedProto", "java script:"],
    ["xForwardedMethod", "GET /"],
    ["xForwardedUri", "http://evil.example/"],
    ["xForwardedUri", ""],
    ["xForwardedUri", `/${"a".repeat(9000)}`],
  ])("does not pass on %s: %j", (name, value) => {
    const fact = name.replace("xForwarded", "").toLowerCase()
    expect(forwardedFacts({ ...headers, [name]: value }, trusting(inside))).toMatchObject({
      [fact]: undefined,
    })
  })
})
