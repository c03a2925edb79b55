import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { expectProperty, isReplay, printSeed } from "../../algorithms/replay.test-support.js"
import { globOf, matchesGlob } from "./glob.js"
import { GlobTable } from "./glob-table.js"
import type { MatchSpec, RequestFacts } from "./match-spec.js"
import { compileMatcher } from "./matcher.js"
import { globMatches, naiveMatch, pathParams } from "./naive-matcher.test-support.js"

// Few letters and few words, so that most of what is drawn nearly matches.

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
  it("finds what asking every rule for every part finds, in the order of the rules", () => {
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

  it("explains as it matches, rule by rule", () => {
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

  it("names as failed a part without which the rule would get further", () => {
    expectProperty(fc.tuple(spec, request), 1_000, ([only, facts]) => {
      const reason = compileMatcher([only]).explain(0, facts)
      if (reason.matched) return
      expect(naiveMatch([{ [reason.part]: only[reason.part] }], facts)).toEqual([])
    })
  })
})

describe("path patterns", () => {
  it("match as trying every way does, and capture with each ** as short as it can be", () => {
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

  it("match as going character by character does", () => {
    expectProperty(fc.tuple(globs, texts), 5_000, ([pattern, text]) => {
      expect(matchesGlob(globOf(pattern), text)).toBe(globMatches(pattern, text))
    })
  })

  it("are all found in a table of many", () => {
    expectProperty(fc.tuple(fc.array(globs, { maxLength: 40 }), texts), 1_000, ([patterns, text]) => {
      const different = [...new Set(patterns)]
      const table = new GlobTable(different.map((pattern, value) => ({ glob: globOf(pattern), value })))
      const expected = different.flatMap((pattern, i) => (globMatches(pattern, text) ? [i] : []))
      const found: number[] = []
      // As part of a longer text, so that nothing outside the part may count.
      table.find(`a${text}ab`, 1, 1 + text.length, found)
      expect(found.sort((a, b) => a - b)).toEqual(expected)
    })
  })
})
