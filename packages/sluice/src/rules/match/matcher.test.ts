import { describe, expect, it } from "vitest"
import { pathVariants } from "../../request/corpus.test-support.js"
import { canonicalPath } from "../../request/path.js"
import { type MatchSpec, routeOf } from "./match-spec.js"
import { compileMatcher } from "./matcher.js"
import { type Ask, request } from "./request.test-support.js"

function matched(specs: readonly MatchSpec[], ask: Ask | string): number[] {
  return compileMatcher(specs)
    .match(request(ask))
    .map(({ index }) => index)
}

describe("a matcher", () => {
  it("finds every rule that matches, in the order of the rules", () => {
    const specs: MatchSpec[] = [
      { path: "/v1/**" },
      {},
      { path: "/v1/users/:id" },
      { method: "POST" },
      { host: "*.example.com" },
      { path: "/v2/**" },
      { path: "/v1/users/7" },
      { path: "/**" },
    ]
    expect(matched(specs, "/v1/users/7")).toEqual([0, 1, 2, 4, 6, 7])
    expect(matched([...specs].reverse(), "/v1/users/7")).toEqual([0, 1, 3, 5, 6, 7])
    expect(matched(specs, { method: "POST", host: "localhost", target: "/" })).toEqual([1, 3, 7])
  })

  it("finds nothing among no rules", () => {
    expect(matched([], "/")).toEqual([])
  })

  it("finds the same match for a rule among a thousand as for the rule alone", () => {
    const kinds: ((i: number) => [spec: MatchSpec, ask: Ask])[] = [
      (i) => [{ tier: `t${i}` }, { tier: `t${i}` }],
      (i) => [{ host: `h${i}.example.com` }, { host: `h${i}.example.com` }],
      (i) => [{ header: { "x-tenant": `\u0161${i}` } }, { headers: { "x-tenant": `\u0161${i}` } }],
      (i) => [{ path: `/${"long/".repeat(12)}${i}` }, { target: `/${"long/".repeat(12)}${i}` }],
      (i) => [
        { path: `/p${i}/:id`, method: "PUT" },
        { target: `/p${i}/7`, method: "PUT" },
      ],
    ]
    const pairs = Array.from({ length: 1_000 }, (_, i) => (kinds[i % kinds.length] as (typeof kinds)[0])(i))
    const among = compileMatcher(pairs.map(([spec]) => spec))
    pairs.forEach(([spec, ask], index) => {
      const [alone] = compileMatcher([spec]).match(request(ask))
      expect(among.match(request(ask))).toEqual([{ ...alone, index }])
    })
  })

  it("needs every part of a match", () => {
    const spec: MatchSpec = {
      method: "GET",
      host: "api.example.com",
      path: "/a",
      header: { "X-Tenant": "acme" },
      query: { page: "1" },
      tier: "free",
    }
    const all = {
      method: "GET",
      host: "api.example.com",
      target: "/a?page=1",
      headers: { "x-tenant": "acme" },
      tier: "free",
    }
    expect(matched([spec], all)).toEqual([0])
    const { tier: _, ...noTier } = all
    for (const ask of [
      { ...all, method: "POST" },
      { ...all, host: "example.com" },
      { ...all, target: "/b?page=1" },
      { ...all, target: "/a?page=2" },
      { ...all, target: "/a" },
      { ...all, headers: {} },
      { ...all, headers: { "x-tenant": "other" } },
      { ...all, tier: "paid" },
      noTier,
    ]) {
      expect(matched([spec], ask)).toEqual([])
    }
  })

  it("matches methods in upper and lower case, and only GET for GET", () => {
    expect(matched([{ method: "get" }], { method: "GET" })).toEqual([0])
    expect(matched([{ method: ["PUT", "PATCH"] }], { method: "patch" })).toEqual([0])
    expect(matched([{ method: "GET" }], { method: "HEAD" })).toEqual([])
  })

  it("matches any value of a header or parameter for true, including the empty value", () => {
    const specs: MatchSpec[] = [{ header: { "X-Debug": true } }, { query: { Debug: true } }]
    expect(matched(specs, { headers: { "x-debug": "" }, target: "/?debug" })).toEqual([0, 1])
    expect(matched(specs, { headers: { "x-other": "1" }, target: "/?other" })).toEqual([])
  })

  it("tests every value of a parameter that a request has twice", () => {
    expect(matched([{ query: { op: "export" } }], "/?op=list&op=export")).toEqual([0])
    expect(matched([{ query: { op: "export" } }], "/?op=export&op=list")).toEqual([0])
  })

  it("returns a rule once if several of its patterns match, with the first of them", () => {
    const filler = Array.from({ length: 20 }, (_, i): MatchSpec => ({ path: `/${i}`, host: `h${i}.test` }))
    const spec: MatchSpec = {
      host: ["a.example.com", "*.example.com", "*.com"],
      path: ["/a/**", "/**", "/a/:id", "/A/b"],
      query: { x: ["1", "2", "*"] },
    }
    for (const specs of [[spec], [spec, ...filler]]) {
      const found = compileMatcher(specs).match(request({ host: "a.example.com", target: "/a/b?x=1&x=2" }))
      expect(found).toEqual([{ index: 0, params: undefined, pattern: "/a/**" }])
    }
    const turned = { ...spec, path: ["/z", "/a/:id", "/a/**"] }
    for (const specs of [[turned], [turned, ...filler]]) {
      const found = compileMatcher(specs).match(request({ host: "a.example.com", target: "/a/B?x=1" }))
      expect(found).toEqual([{ index: 0, params: { id: "B" }, pattern: "/a/:id" }])
    }
  })

  it("can be called again while it reads a header", () => {
    const matcher = compileMatcher(
      Array.from({ length: 20 }, (_, i) => ({ path: `/**/${i}/**`, header: { "x-a": "1", "x-b": "*" } })),
    )
    const inner: number[][] = []
    const outer = matcher.match({
      ...request("/3/4"),
      header() {
        inner.push(
          matcher
            .match(request({ target: "/7", headers: { "x-a": "1", "x-b": "" } }))
            .map(({ index }) => index),
        )
        return "1"
      },
    })
    expect(outer.map(({ index }) => index)).toEqual([3, 4])
    expect(inner.length).toBeGreaterThan(0)
    for (const found of inner) expect(found).toEqual([7])
  })

  it("works again after a header could not be read", () => {
    const matcher = compileMatcher([{ path: "/**/a/**", header: { "x-a": "1" } }])
    const broken = { ...request("/a"), header: () => { throw new Error("no headers") } } // biome-ignore format: one line
    expect(() => matcher.match(broken)).toThrow("no headers")
    expect(matcher.match(request({ target: "/b/a", headers: { "x-a": "1" } })).length).toBe(1)
  })

  it.each(["/login", "/v1/users"])("matches every spelling of %s", (path) => {
    const matcher = compileMatcher([{ path }, { path: `${path}/**` }, { path: "/:a/**" }])
    const escaped = pathVariants(path).flatMap(({ target }) => {
      const canonical = canonicalPath(target)
      if (!canonical.ok) return []
      const found = matcher.match({ ...request("/"), path: canonical.path, query: canonical.query })
      return found.length === 3 ? [] : [target]
    })
    expect(escaped).toEqual([])
  })

  it.each([
    [{ path: "/a**" }, "rules[1].match.path"],
    [{ path: ["/a", "b"] }, "rules[1].match.path[1]"],
    [{ host: "*" }, "rules[1].match.host"],
    [{ method: "GET /" }, "rules[1].match.method"],
    [{ header: { "X-A": "\n" } }, "rules[1].match.header.X-A"],
    [{ query: { a: ["1", "\0"] } }, "rules[1].match.query.a[1]"],
    [{ path: [] }, "rules[1].match.path"],
  ])("names the place of a mistake: %j", (spec, place) => {
    expect(() => compileMatcher([{}, spec])).toThrow(
      expect.objectContaining({ code: "PATTERN_INVALID", place }),
    )
  })

  it("names the place as the caller says", () => {
    expect(() => compileMatcher([{ path: "a" }], (i) => `rule ${i}`)).toThrow(
      expect.objectContaining({ place: "rule 0.path" }),
    )
  })
})

describe("explain", () => {
  const matcher = compileMatcher([
    {
      method: ["GET", "POST"],
      host: ["a.test", "*.b.test"],
      path: ["/v1/:id", "/v2/**"],
      header: { "X-Tenant": ["acme", "beta-*"], "x-on": true },
      query: { page: "1" },
      tier: "free",
    },
    {},
  ])
  const all = {
    host: "a.test",
    target: "/v1/7?page=1",
    headers: { "x-tenant": "acme", "x-on": "" },
    tier: "free",
  }

  it("returns the match if there is one", () => {
    const match = { index: 0, params: { id: "7" }, pattern: "/v1/:id" }
    expect(matcher.explain(0, request(all))).toEqual({ matched: true, match })
    expect(matcher.explain(1, request("/"))).toEqual({
      matched: true,
      match: { index: 1, params: undefined, pattern: undefined },
    })
  })

  it.each<[Partial<Ask>, object]>([
    [{ method: "PUT" }, { part: "method", expected: "GET or POST", found: "PUT" }],
    [{ host: "b.test:80" }, { part: "host", expected: "a.test or *.b.test", found: "b.test:80" }],
    [{ target: "/v3/x" }, { part: "path", expected: "/v1/:id or /v2/**", found: "/v3/x" }],
    [
      { headers: { "x-tenant": "other" } },
      { part: "header", name: "x-tenant", expected: "acme or beta-*", found: "other" },
    ],
    [
      { headers: { "x-tenant": "beta-1" } },
      { part: "header", name: "x-on", expected: "any value", found: undefined },
    ],
    [{ target: "/v2?page=2&page=3" }, { part: "query", name: "page", expected: "1", found: "2, 3" }],
    [{ target: "/v2" }, { part: "query", name: "page", expected: "1", found: undefined }],
    [{ tier: "paid" }, { part: "tier", expected: "free", found: "paid" }],
  ])("names the first part that fails with %j", (change, expected) => {
    expect(matcher.explain(0, request({ ...all, ...change }))).toEqual({ matched: false, ...expected })
  })

  it("refuses an unknown rule", () => {
    expect(() => matcher.explain(2, request("/"))).toThrow(RangeError)
  })
})

describe("routeOf", () => {
  it("is the pattern as it is written, or /** for a rule without a path", () => {
    const matcher = compileMatcher([{ path: ["/Users/:id/", "/x"] }, {}])
    expect(matcher.match(request("/users/7")).map(routeOf)).toEqual(["/Users/:id/", "/**"])
  })
})
