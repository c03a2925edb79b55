// Rules and requests that are slow to match for a matcher that backtracks. Each lookup takes tens of microseconds. The bounds are
// far above that, so that they hold on a busy machine, and far below the time that backtracking would take.

import { describe, expect, it } from "vitest"
import type { MatchSpec, RequestFacts } from "./match-spec.js"
import { compileMatcher } from "./matcher.js"
import { request } from "./request.test-support.js"

const SEGMENTS = 4_000

/** The time of the fastest of several lookups in milliseconds: other work on the machine only ever adds time. */
function fastest(specs: readonly MatchSpec[], facts: RequestFacts, expected: number): number {
  const matcher = compileMatcher(specs)
  let best = Number.POSITIVE_INFINITY
  for (let i = 0; i < 30; i++) {
    const started = performance.now()
    const found = matcher.match(facts)
    best = Math.min(best, performance.now() - started)
    expect(found.length).toBe(expected)
  }
  return best
}

const fill = (count: number, spec: (i: number) => MatchSpec) =>
  Array.from({ length: count }, (_, i) => spec(i))

describe("a path of 4,000 segments", () => {
  const long = (segment: string, end = "") => request(`/${`${segment}/`.repeat(SEGMENTS)}${end}`)

  it.each<[string, MatchSpec[], RequestFacts, number]>([
    ["many ** that almost match", [{ path: "/**/a/**/a/**/a/**/b" }], long("a"), 0],
    ["many ** that match", [{ path: "/**/a/**/a/**/a/**" }], long("a"), 1],
    ["a parameter behind many **", [{ path: "/**/a/**/:x/**/a/:y" }], long("a"), 1],
    ["the maximum number of **", [{ path: `${"/**/a".repeat(16)}` }], long("a", "b"), 0],
    ["a long run behind **", [{ path: `/**${"/a".repeat(30)}/b` }], long("a"), 0],
    [
      "several patterns in one rule",
      [{ path: fill(8, (i) => ({ path: `/**/a/**/a/${i}` })).map(({ path }) => path as string) }],
      long("a"),
      0,
    ],
    ["no ** at all", [{ path: "/a/:b/c" }], long("a"), 0],
    ["upper case, parameters and triplets", [{ path: "/**/ab/**/c" }], long("A%42;x=1"), 0],
    [
      "a hundred rules that end differently",
      fill(100, (i) => ({ path: `/**/a/**/${i}` })),
      long("a", "7"),
      1,
    ],
  ])("is matched quickly: %s", (_title, specs, facts, expected) => {
    expect(fastest(specs, facts, expected)).toBeLessThan(10)
  })

  it("takes linear time", () => {
    const specs = [{ path: `${"/**/a".repeat(8)}/**/b` }]
    const half = fastest(specs, request(`${"/a".repeat(8_000)}`), 0)
    const whole = fastest(specs, request(`${"/a".repeat(16_000)}`), 0)
    // Linear time gives 2, plus effects of the cache. Backtracking gives 2^8.
    expect(whole / half).toBeLessThan(8)
  })
})

describe("values of 16 KB", () => {
  const bad = "a".repeat(16_384)

  it.each<[string, MatchSpec, RequestFacts]>([
    ["stars in a header", { header: { x: `${"*a".repeat(127)}b` } }, request({ headers: { x: bad } })],
    [
      "a long piece in a header",
      { header: { x: `*${"a".repeat(120)}b${"a".repeat(120)}*` } },
      request({ headers: { x: bad } }),
    ],
    ["stars in a parameter", { query: { x: `${"*a".repeat(127)}b` } }, request(`/?x=${bad}`)],
    ["stars in a segment", { path: `/${"*a".repeat(127)}b` }, request(`/${bad}`)],
    ["labels in a host", { host: "*.example.com" }, request({ host: "a.".repeat(8_192) })],
    ["parameters in a query", { query: { x: "1" } }, request(`/?${"&a".repeat(8_192)}`)],
    ["signs in a query", { query: { x: "1" } }, request(`/?${"%".repeat(8_192)}${"=".repeat(8_192)}`)],
  ])("are matched quickly: %s", (_title, spec, facts) => {
    expect(fastest([spec], facts, 0)).toBeLessThan(10)
    expect(
      fastest(
        fill(20, () => spec),
        facts,
        0,
      ),
    ).toBeLessThan(100)
  })
})

describe("rules by the thousand", () => {
  it("are compiled quickly if each has long lists", () => {
    const list = (name: string, i: number) =>
      Array.from({ length: 10 }, (_, j) => `${name}${(i * 7 + j * 13) % 50}`)
    const specs = fill(1_000, (i) => ({
      path: list("/p", i),
      host: list("h", i),
      method: list("M", i),
      tier: list("t", i),
      header: { x: list("x", i), y: list("y", i) },
      query: { z: list("z", i) },
    }))
    const started = performance.now()
    const matcher = compileMatcher(specs)
    expect(performance.now() - started).toBeLessThan(5_000)
    const ask = { method: "M7", host: "h7", target: "/p7?z=z7", headers: { x: "x7", y: "y7" }, tier: "t7" }
    const expected = specs.flatMap(({ path }, index) => (path?.includes("/p7") ? [index] : []))
    expect(matcher.match(request(ask)).map(({ index }) => index)).toEqual(expected)
  })

  it("are all found if all match", () => {
    const specs = fill(10_000, (i) => (i % 2 === 0 ? {} : { path: i % 3 === 0 ? "/**" : ["/a", "/:x"] }))
    expect(
      compileMatcher(specs)
        .match(request("/a"))
        .map(({ index }) => index),
    ).toEqual(specs.map((_, i) => i))
  })

  // A test of rule after rule takes longer than the bound for most of these sets.
  it.each<[string, (i: number) => MatchSpec, RequestFacts]>([
    ["their paths", (i) => ({ path: `/a/${i}` }), request("/a/77")],
    ["prefixes", (i) => ({ path: `/a/${i}/**` }), request("/a/77/b")],
    ["parameters", (i) => ({ path: `/a/:x/${i}` }), request("/a/b/77")],
    ["what follows **", (i) => ({ path: `/**/${i}/:x` }), request("/a/77/b")],
    ["globs in the path", (i) => ({ path: `/t${i}-*/x` }), request("/t77-a/x")],
    ["their hosts", (i) => ({ host: `t${i}.test` }), request({ host: "t77.test" })],
    ["their domains", (i) => ({ host: `*.t${i}.test` }), request({ host: "a.t77.test" })],
    [
      "method and path",
      (i) => ({ method: `M${i % 10}`, path: `/${i % 1_000}/${(i / 1_000) | 0}` }),
      request({ method: "M7", target: "/77/0" }),
    ],
    ["their tiers", (i) => ({ tier: `t${i}` }), request({ tier: "t77" })],
    ["a header", (i) => ({ header: { x: `t${i}` } }), request({ headers: { x: "t77" } })],
    ["a glob for a header", (i) => ({ header: { x: `*-${i}` } }), request({ headers: { x: "a-77" } })],
    [
      "one of two headers",
      (i) => ({ header: { on: "1", x: `t${i}` } }),
      request({ headers: { on: "1", x: "t77" } }),
    ],
    ["a parameter", (i) => ({ query: { x: `t${i}` } }), request("/?x=t77")],
    ["the name of a parameter", (i) => ({ query: { [`t${i}`]: "1" } }), request("/?t77=1")],
    [
      "host and path together",
      (i) => ({ host: `h${i % 100}`, path: `/${(i / 100) | 0}` }),
      request({ host: "h77", target: "/0" }),
    ],
  ])("that differ in %s are not all tested", (_title, spec, facts) => {
    expect(fastest(fill(10_000, spec), facts, 1)).toBeLessThan(0.25)
  })
})
