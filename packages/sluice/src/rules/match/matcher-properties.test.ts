import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { expectProperty, isReplay, printSeed } from "../../algorithms/replay.test-support.js"
import { matchesGlob, parseGlob } from "../language/value-pattern.js"
import { GlobIndex } from "./glob-index.js"
import type { MatchSpec, RequestFacts } from "./match-spec.js"
import { compileMatcher } from "./matcher.js"
import { globMatches, naiveMatch, pathParams } from "./naive-matcher.test-support.js"

// Few letters and few words, so that most requests match a rule or almost match one.

const word = fc.constantFrom("a", "b", "aa", "ab", "ba", "aba")
const anyCase = fc.constantFrom("a", "b", "aa", "ab", "ba", "aba", "A", "aB", "b;v=1", "AA;x")
const glob = fc
  .array(fc.constantFrom("a", "b", "*"), { minLength: 1, maxLength: 5 })
  .map((letters) => letters.join("").replace(/\*+/g, "*"))

const path = fc
  .tuple(fc.array(anyCase, { maxLength: 7 }), fc.constantFrom("", "/"))
  .map(([segments, end]) => `/${segments.join("/")}${segments.length > 0 ? end : ""}`)

const pathPattern = fc
  .tuple(
    fc.array(
      fc.oneof(
        { weight: 4, arbitrary: word },
        { weight: 2, arbitrary: glob },
        { weight: 2, arbitrary: fc.constant(":") },
        { weight: 2, arbitrary: fc.constant("**") },
        { weight: 1, arbitrary: fc.constantFrom("A", "aB") },
      ),
      { maxLength: 6 },
    ),
    fc.constantFrom("", "/"),
  )
  .map(([segments, end]) => {
    const named = segments.map((segment, i) => (segment === ":" ? `:p${i}` : segment))
    return `/${named.join("/")}${named.length > 0 ? end : ""}`
  })

const host = fc
  .tuple(
    fc.array(fc.constantFrom("a", "b", "B", ""), { minLength: 1, maxLength: 4 }),
    fc.constantFrom("", ".", ":80", ".:443"),
  )
  .map(([labels, end]) => labels.join(".") + end)
const hostPattern = fc
  .array(fc.constantFrom("a", "b", "A"), { minLength: 1, maxLength: 3 })
  .chain((labels) => fc.constantFrom(labels.join("."), `*.${labels.join(".")}`))

const methods = ["GET", "POST", "PUT"]
const oneOrMore = (arbitrary: fc.Arbitrary<string>) =>
  fc.oneof(arbitrary, fc.array(arbitrary, { minLength: 1, maxLength: 3 }))
const values = fc.dictionary(
  fc.constantFrom("x", "Y", "z"),
  fc.oneof(oneOrMore(fc.oneof(word, glob)), fc.constant(true as const)),
  { minKeys: 1, maxKeys: 2 },
)

const parts = {
  method: oneOrMore(fc.constantFrom(...methods, "get")),
  host: oneOrMore(hostPattern),
  path: oneOrMore(pathPattern),
  header: values,
  query: values,
  tier: oneOrMore(fc.constantFrom("free", "paid")),
}
const spec: fc.Arbitrary<MatchSpec> = fc
  .subarray(Object.keys(parts) as (keyof MatchSpec)[], { maxLength: 3 })
  .chain((names) => fc.record(parts).map((all) => Object.fromEntries(names.map((name) => [name, all[name]]))))

const request = fc
  .record({
    method: fc.constantFrom(...methods, "post", "DELETE"),
    host,
    path,
    query: fc.array(fc.tuple(fc.constantFrom("x", "X", "y", "w"), fc.oneof(word, fc.constant("%61b"))), {
      maxLength: 4,
    }),
    headers: fc.dictionary(
      fc.constantFrom("x", "y"),
      fc.oneof(word, fc.array(word, { minLength: 2, maxLength: 3 })),
    ),
    tier: fc.constantFrom("free", "paid", undefined),
  })
  .map(({ headers, query, ...facts }): RequestFacts & { headers: Record<string, string | string[]> } => ({
    ...facts,
    headers,
    query: query.map(([name, value]) => `${name}=${value}`).join("&"),
    header: (name) => (Object.hasOwn(headers, name) ? headers[name] : undefined),
  }))

printSeed()

describe("a compiled matcher", { timeout: 60_000 }, () => {
  it("finds the same rules as a test of every part of every rule, in the order of the rules", () => {
    let matches = 0
    const sets = fc.tuple(
      fc.oneof(fc.array(spec, { maxLength: 8 }), fc.array(spec, { minLength: 20, maxLength: 60 })),
      fc.array(request, { minLength: 1, maxLength: 20 }),
    )
    expectProperty(sets, 400, ([specs, requests]) => {
      const matcher = compileMatcher(specs)
      for (const facts of requests) {
        const expected = naiveMatch(specs, facts)
        matches += expected.length
        expect(matcher.match(facts)).toEqual(expected)
      }
    })
    if (!isReplay) expect(matches).toBeGreaterThan(1_000)
  })

  it("explains a match for exactly the rules that it matches", () => {
    expectProperty(
      fc.tuple(fc.array(spec, { minLength: 1, maxLength: 20 }), request),
      300,
      ([specs, facts]) => {
        const matcher = compileMatcher(specs)
        const matched = matcher.match(facts)
        specs.forEach((_, index) => {
          const match = matched.find((other) => other.index === index)
          const reason = matcher.explain(index, facts)
          expect(reason.matched).toBe(match !== undefined)
          if (reason.matched) expect(reason.match).toEqual(match)
        })
      },
    )
  })

  it("names a part that does not match on its own", () => {
    expectProperty(fc.tuple(spec, request), 1_000, ([only, facts]) => {
      const reason = compileMatcher([only]).explain(0, facts)
      if (reason.matched) return
      expect(naiveMatch([{ [reason.part]: only[reason.part] }], facts)).toEqual([])
    })
  })
})

describe("path patterns", () => {
  it("match the same paths as the model, and each ** captures as few segments as possible", () => {
    let matches = 0
    expectProperty(fc.tuple(pathPattern, path), 5_000, ([pattern, path]) => {
      const expected = pathParams(pattern, path)
      if (expected !== undefined) matches++
      const facts = { method: "GET", host: "", path, query: "", tier: undefined, header: () => undefined }
      const [matched] = compileMatcher([{ path: pattern }]).match(facts)
      expect(matched !== undefined).toBe(expected !== undefined)
      if (matched !== undefined) expect(matched.params ?? {}).toEqual(expected)
    })
    if (!isReplay) expect(matches).toBeGreaterThan(300)
  })
})

describe("globs", () => {
  const texts = fc.array(fc.constantFrom("a", "b"), { maxLength: 8 }).map((letters) => letters.join(""))
  const globs = glob.filter((text) => text.includes("*"))

  it("match the same texts as a comparison character by character", () => {
    expectProperty(fc.tuple(globs, texts), 5_000, ([pattern, text]) => {
      expect(matchesGlob(parseGlob(pattern), text)).toBe(globMatches(pattern, text))
    })
  })

  it("are all found in an index, and no others", () => {
    expectProperty(fc.tuple(fc.array(globs, { maxLength: 40 }), texts), 1_000, ([patterns, text]) => {
      const index = new GlobIndex<string>()
      for (const pattern of patterns) index.getOrAdd(parseGlob(pattern), () => pattern)
      const expected = new Set(patterns.filter((pattern) => globMatches(pattern, text)))
      expect(index.find(text).sort()).toEqual([...expected].sort())
    })
  })
})
