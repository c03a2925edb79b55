import { SluiceError } from "../../errors.js"
import { type HostPattern, matchesHost, parseHostPattern } from "../language/host-pattern.js"
import { captureParams, matchPath, type PathPattern, parsePathPattern } from "../language/path-pattern.js"
import type { Steps } from "../language/steps.js"
import { matchesValue, parseValuePattern, type ValuePattern } from "../language/value-pattern.js"
import type { ComparedRequest } from "./compared-request.js"
import type { Matched, MatchReason, MatchSpec, OneOrMore, ValueSpecs } from "./match-spec.js"

/** A header or query parameter and the values that it may have; true for any value. */
export interface ValueTest {
  /** In lower case. */
  readonly name: string
  readonly patterns: readonly ValuePattern[] | true
}

/** The fields of a `RuleMatch`. */
type MatchParts = Omit<RuleMatch, "with" | "collect" | "explain">

const METHOD = /^[\w!#$%&'*+.^`|~-]+$/

/** The compiled `match` of one rule. A part that is undefined allows every request. */
export class RuleMatch {
  /** The index of the rule in its rule set. */
  readonly index: number
  readonly methods: readonly string[] | undefined
  readonly hosts: readonly HostPattern[] | undefined
  readonly paths: readonly PathPattern[] | undefined
  readonly headers: readonly ValueTest[] | undefined
  readonly queries: readonly ValueTest[] | undefined
  readonly tiers: readonly string[] | undefined
  /** The text of a path pattern that is known to match, instead of `paths`. */
  readonly knownPath: string | undefined
  /** The parameters of that pattern, if it has any. It has no `**` then. */
  readonly knownParams: PathPattern["params"] | undefined

  constructor(parts: MatchParts) {
    this.index = parts.index
    this.methods = parts.methods
    this.hosts = parts.hosts
    this.paths = parts.paths
    this.headers = parts.headers
    this.queries = parts.queries
    this.tiers = parts.tiers
    this.knownPath = parts.knownPath
    this.knownParams = parts.knownParams
  }

  /** The same rule with other tests, for requests that are known to pass the tests that are left out. */
  with(changes: Partial<MatchParts>): RuleMatch {
    return new RuleMatch({ ...this, ...changes })
  }

  /** Appends the match to `found` if a request passes every test. The cheapest tests come first. */
  collect(request: ComparedRequest, found: Matched[]): void {
    if (!this.#matchesMethod(request) || !this.#matchesTier(request) || !this.#matchesHost(request)) return
    if (this.#failedHeader(request) !== undefined || this.#failedQuery(request) !== undefined) return
    const matched = this.#matchPath(request)
    if (matched !== undefined) found.push(matched)
  }

  /** Tests the parts in the order in which people write them, and names the first that does not match. */
  explain(request: ComparedRequest): MatchReason {
    const { facts } = request
    if (!this.#matchesMethod(request)) return failure("method", this.methods, facts.method)
    if (!this.#matchesHost(request)) return failure("host", this.hosts?.map(textOf), facts.host)
    const match = this.#matchPath(request)
    if (match === undefined) return failure("path", this.paths?.map(textOf), facts.path)
    const header = this.#failedHeader(request)
    if (header !== undefined) {
      const given = facts.header(header.name)
      const found = typeof given === "object" ? given[0] : given
      return { ...failure("header", textsOf(header), found), name: header.name }
    }
    const query = this.#failedQuery(request)
    if (query !== undefined) {
      const found = request.query.get(query.name)?.join(", ")
      return { ...failure("query", textsOf(query), found), name: query.name }
    }
    if (!this.#matchesTier(request)) return failure("tier", this.tiers, facts.tier)
    return { matched: true, match }
  }

  #matchesMethod(request: ComparedRequest): boolean {
    return this.methods === undefined || this.methods.includes(request.method)
  }

  #matchesTier({ facts }: ComparedRequest): boolean {
    return this.tiers === undefined || (facts.tier !== undefined && this.tiers.includes(facts.tier))
  }

  #matchesHost(request: ComparedRequest): boolean {
    return this.hosts === undefined || this.hosts.some((pattern) => matchesHost(pattern, request.host))
  }

  #failedHeader({ facts }: ComparedRequest): ValueTest | undefined {
    return this.headers?.find(({ name, patterns }) => {
      const given = facts.header(name)
      if (given === undefined) return true
      return typeof given === "string" ? !allows(patterns, given) : !allowsAny(patterns, given)
    })
  }

  #failedQuery(request: ComparedRequest): ValueTest | undefined {
    return this.queries?.find(({ name, patterns }) => !allowsAny(patterns, request.query.get(name) ?? []))
  }

  /** A rule with several path patterns matches by the first that fits. */
  #matchPath(request: ComparedRequest): Matched | undefined {
    const { index, paths, knownPath, knownParams } = this
    if (paths === undefined) {
      const params = knownParams && captureParams(knownParams, [0], request.originalSegments)
      return { index, params, pattern: knownPath }
    }
    for (const { text, runs, params } of paths) {
      const runStarts = matchPath(runs, request.segments)
      if (runStarts === undefined) continue
      const captured =
        params.length === 0 ? undefined : captureParams(params, runStarts, request.originalSegments)
      return { index, params: captured, pattern: text }
    }
    return undefined
  }
}

function allows(patterns: ValueTest["patterns"], value: string): boolean {
  return patterns === true || patterns.some((pattern) => matchesValue(pattern, value))
}

/** One value is enough: a request does not escape a rule if it has a header or parameter twice. */
function allowsAny(patterns: ValueTest["patterns"], values: readonly string[]): boolean {
  return values.some((value) => allows(patterns, value))
}

function failure(part: keyof MatchSpec, expected: readonly string[] = [], found: string | undefined) {
  return { matched: false, part, expected: expected.join(" or "), found } as const
}

function textsOf({ patterns }: ValueTest): string[] {
  return patterns === true ? ["any value"] : patterns.map(textOf)
}

function textOf(pattern: string | { readonly text: string }): string {
  return typeof pattern === "string" ? pattern : pattern.text
}

/** Parses the patterns of a match. `place` names the match in errors. */
export function* compileRuleMatch(spec: MatchSpec, index: number, place: string): Steps<RuleMatch> {
  return new RuleMatch({
    index,
    methods: yield* parseEach(spec.method, `${place}.method`, parseMethod),
    hosts: yield* parseEach(spec.host, `${place}.host`, parseHostPattern),
    paths: yield* parseEach(spec.path, `${place}.path`, parsePathPattern),
    headers: yield* parseValueTests(spec.header, `${place}.header`),
    queries: yield* parseValueTests(spec.query, `${place}.query`),
    tiers: yield* parseEach(spec.tier, `${place}.tier`, (tier) => tier),
    knownPath: undefined,
    knownParams: undefined,
  })
}

function* parseValueTests(specs: ValueSpecs | undefined, place: string): Steps<ValueTest[] | undefined> {
  const tests: ValueTest[] = []
  for (const [name, spec] of Object.entries(specs ?? {})) {
    const patterns =
      spec === true || ((yield* parseEach(spec, `${place}.${name}`, parseValuePattern)) as ValuePattern[])
    tests.push({ name: name.toLowerCase(), patterns })
  }
  return tests.length === 0 ? undefined : tests
}

function parseMethod(text: string, place: string): string {
  if (typeof text === "string" && METHOD.test(text)) return text.toUpperCase()
  throw new SluiceError("PATTERN_INVALID", { place, expected: "must be a method, like GET", found: text })
}

function* parseEach<T>(
  given: OneOrMore | undefined,
  place: string,
  parse: (text: string, place: string) => T,
): Steps<T[] | undefined> {
  if (given === undefined) return undefined
  if (typeof given === "string") {
    yield
    return [parse(given, place)]
  }
  const parsed: T[] = []
  for (const [i, text] of given.entries()) {
    parsed.push(parse(text, `${place}[${i}]`))
    yield
  }
  if (parsed.length > 0) return parsed
  throw new SluiceError("PATTERN_INVALID", { place, expected: "must not be an empty list" })
}
