// Every way in the corpus to write a path or to claim an address, against a rule of one request: the second never passes.

import { describe, expect, it } from "vitest"
import { ipVariants, pathVariants } from "../../request/corpus.test-support.js"
import { createRuleEngine } from "./engine.js"

const once = [{ limit: 1, window: "1h", algorithm: "fixed-window" as const }]

describe("a limit on a path", () => {
  it.each(["/login", "/v1/users", "/a/b/c/login"])("applies to every spelling of %s", (path) => {
    const engine = createRuleEngine({
      rules: { version: 1, rules: [{ id: "path", match: { path }, keyBy: "global", limits: once }] },
    })
    expect(engine.checkSync({ path }).allowed).toBe(true)
    const variants = pathVariants(path)
    expect(variants.length).toBeGreaterThan(200)
    for (const { family, target, must } of variants) {
      const { allowed, reason } = engine.checkSync({ path: target })
      const reasons = must === "match" ? ["limit"] : ["limit", "bad-path"]
      expect.soft(allowed, `${family}: ${target}`).toBe(false)
      expect.soft(reasons, `${family}: ${target}`).toContain(reason)
    }
  })
})

describe("a limit on an address", () => {
  it.each(["203.0.113.7", "2001:db8:1:2:3:4:5:6"])("applies to every form in which %s may arrive", (ip) => {
    // Rule sets name trusted proxies by address; counts and functions are for middleware.
    const variants = ipVariants(ip).filter(
      ({ trust }) => typeof trust === "object" || trust === false || typeof trust === "string",
    )
    expect(variants.length).toBeGreaterThan(100)
    for (const { family, source, trust, header, key } of variants) {
      const trustedProxies =
        trust === false ? [] : [trust].flat().flatMap((entry) => String(entry).split(","))
      const engine = createRuleEngine({
        rules: {
          version: 1,
          identity: { trustedProxies, forwardedBy: header },
          rules: [{ id: "ip", limits: once }],
        },
      })
      const { peer, forwarded, xForwardedFor } = source
      const decision = engine.checkSync({
        ip: peer,
        headers: { forwarded, "x-forwarded-for": xForwardedFor },
      })
      expect.soft(decision.rules[0]?.key, `${family}: ${JSON.stringify(source)}`).toBe(`ip:${key}`)
    }
  })
})
