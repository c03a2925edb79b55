import { SluiceError } from "../../errors.js"
import type { Steps } from "../language/steps.js"
import type { ComparedRequest } from "./compared-request.js"
import { type HostPattern, matchesHost, parseHostPattern } from "./host-pattern.js"
import type { Matched, MatchReason, MatchSpec, OneOrMore, ValueSpecs } from "./match-spec.js"
import { captureParams, isUnder, matchPath, type PathPattern, parsePathPattern } from "./path-pattern.js"
import { matchesValue, parseValuePattern, type ValuePattern } from "./value-pattern.js"

/** A header or query parameter and what it must be; true for any value. */
export interface ValueTest {
  readonly name: string
  readonly patterns: readonly ValuePattern[] | true
}

interface PathTest {
  readonly pattern: PathPattern
  /** What a match without parameters is told as, made once. */
  readonly matched: Matched
}

/** The patterns of a match, each parsed. */
interface MatchParts {
  readonly methods: readonly string[] | undefined
  readonly hosts: readonly HostPattern[] | undefined
  readonly paths: readonly PathPattern[] | undefined
  readonly headers: readonly ValueTest[]
  readonly queries: readonly ValueTest[]
  readonly tiers: readonly string[] | undefined
}

/** The parts of a match as bits, for what is known of a request and what is still to be asked. */
export const PART = { method: 1, host: 2, path: 4, header: 8, query: 16, tier: 32 } as const

const METHOD = /^[\w!#$%&'*+.^`|~-]+$/

/** The `match` of one rule, compiled: the plain truth about whether it matches, one part after the other. */
export class RuleMatch {
  readonly index: number
  readonly methods: readonly string[] | undefined
  readonly hosts: readonly HostPattern[] | undefined
  readonly paths: readonly PathTest[] | undefined
  readonly headers: readonly ValueTest[]
  readonly queries: readonly ValueTest[]
  readonly tiers: readonly string[] | undefined
  /** What a match is told as when the rule has no path. */
  readonly #matched: Matched

  private constructor(index: number, parts: MatchParts) {
    this.index = index
    this.#matched = { index, params: undefined, pattern: undefined }
    this.methods = parts.methods
    this.hosts = parts.hosts
    this.paths = parts.paths?.map((pattern) => ({
      pattern,
      matched: { index, params: undefined, pattern: pattern.text },
    }))
    this.headers = parts.headers
    this.queries = parts.queries
    this.tiers = parts.tiers
  }

  /** `place` names the match in errors. */
  static *compile(spec: MatchSpec, index: number, place: string): Steps<RuleMatch> {
    return new RuleMatch(index, {
      methods: yield* parseEach(spec.method, `${place}.method`, parseMethod),
      hosts: yield* parseEach(spec.host, `${place}.host`, parseHostPattern),
      paths: yield* parseEach(spec.path, `${place}.path`, parsePathPattern),
      headers: yield* valueTests(spec.header, `${place}.header`),
      queries: yield* valueTests(spec.query, `${place}.query`),
      tiers: yield* parseEach(spec.tier, `${place}.tier`, (tier) => tier),
    })
  }

  /** What is left to ask of a request that is known to meet some parts: one pattern of each, and one header or parameter. */
  toAsk(known: number): number {
    const isKnown = (part: number) => (known & part) !== 0
    let ask = 0
    if (this.methods !== undefined && !isKnown(PART.method)) ask |= PART.method
    if (this.hosts !== undefined && !isKnown(PART.host)) ask |= PART.host
    if (this.tiers !== undefined && !isKnown(PART.tier)) ask |= PART.tier
    if (this.headers.length > Number(isKnown(PART.header))) ask |= PART.header
    if (this.queries.length > Number(isKnown(PART.query))) ask |= PART.query
    // Of several patterns the first that matches is told, which need not be the one that is known to.
    if (this.paths !== undefined && this.paths.length > Number(isKnown(PART.path))) ask |= PART.path
    return ask
  }

  /**
   * The match itself, if nothing is left to ask: ready made, or with the pattern whose parameters are to be captured. A
   * pattern with `**` is left to `match`, which has to find out where its parts are.
   */
  settledBy(known: number): { readonly matched: Matched; readonly pattern?: PathPattern } | undefined {
    if (this.toAsk(known) !== 0) return undefined
    if (this.paths === undefined) return { matched: this.#matched }
    const [{ pattern, matched }] = this.paths as [PathTest]
    if (pattern.params.length === 0) return { matched }
    return pattern.runs.length === 1 ? { matched, pattern } : undefined
  }

  /** Asks these parts, cheapest first. */
  match(request: ComparedRequest, ask: number): Matched | undefined {
    if (ask & PART.method && !this.#meetsMethod(request)) return undefined
    if (ask & PART.tier && !this.#meetsTier(request)) return undefined
    if (ask & PART.host && !this.#meetsHost(request)) return undefined
    if (ask & PART.header && this.#failedHeader(request) !== undefined) return undefined
    if (ask & PART.query && this.#failedQuery(request) !== undefined) return undefined
    return this.#matchPath(request, (ask & PART.path) === 0)
  }

  /** The first part that does not match, in the order in which a rule is written. */
  explain(request: ComparedRequest): MatchReason {
    const { facts } = request
    if (!this.#meetsMethod(request)) return failed("method", this.methods, facts.method)
    if (!this.#meetsHost(request)) return failed("host", this.hosts?.map(textOf), facts.host)
    const match = this.#matchPath(request, false)
    if (match === undefined) {
      const patterns = this.paths?.map(({ pattern }) => pattern.text)
      return failed("path", patterns, facts.path)
    }
    const header = this.#failedHeader(request)
    if (header !== undefined) {
      const given = facts.header(header.name)
      return {
        ...failed("header", textsOf(header), typeof given === "object" ? given[0] : given),
        name: header.name,
      }
    }
    const query = this.#failedQuery(request)
    if (query !== undefined) {
      const given = request.query.get(query.name)?.join(", ")
      return { ...failed("query", textsOf(query), given), name: query.name }
    }
    if (!this.#meetsTier(request)) return failed("tier", this.tiers, facts.tier)
    return { matched: true, match }
  }

  #meetsMethod({ method }: ComparedRequest): boolean {
    return this.methods === undefined || this.methods.includes(method)
  }

  #meetsTier({ facts }: ComparedRequest): boolean {
    return this.tiers === undefined || (facts.tier !== undefined && this.tiers.includes(facts.tier))
  }

  #meetsHost({ host }: ComparedRequest): boolean {
    return this.hosts === undefined || this.hosts.some((pattern) => matchesHost(pattern, host))
  }

  /** Any of the values will do, as with the query. */
  #failedHeader({ facts }: ComparedRequest): ValueTest | undefined {
    return this.headers.find(({ name, patterns }) => {
      const given = facts.header(name)
      if (typeof given === "object") return !given.some((value) => meetsValue(patterns, value))
      return given === undefined || !meetsValue(patterns, given)
    })
  }

  /** Any of the values will do: a request does not escape a rule by giving a parameter twice. */
  #failedQuery({ query }: ComparedRequest): ValueTest | undefined {
    return this.queries.find(({ name, patterns }) => {
      return query.get(name)?.some((value) => meetsValue(patterns, value)) !== true
    })
  }

  /** `isKnown` says that the only pattern is known to match. */
  #matchPath(request: ComparedRequest, isKnown: boolean): Matched | undefined {
    if (this.paths === undefined) return this.#matched
    for (const { pattern, matched } of this.paths) {
      if (isKnown && pattern.params.length === 0) return matched
      // No segments need to be taken from the path to see how it begins.
      if (pattern.prefix !== undefined) {
        if (isUnder(request.compared, pattern.prefix)) return matched
        continue
      }
      const starts = matchPath(pattern, request.segments)
      if (starts === undefined) continue
      if (pattern.params.length === 0) return matched
      const params = captureParams(pattern, starts, request.captured)
      return { index: this.index, params, pattern: pattern.text }
    }
    return undefined
  }
}

function meetsValue(patterns: readonly ValuePattern[] | true, value: string): boolean {
  if (patterns === true) return true
  for (const pattern of patterns) if (matchesValue(pattern, value)) return true
  return false
}

function failed(part: keyof MatchSpec, expected: readonly string[] = [], found: string | undefined) {
  return { matched: false, part, expected: expected.join(" or "), found } as const
}

function textsOf({ patterns }: ValueTest): string[] {
  return patterns === true ? ["any value"] : patterns.map(textOf)
}

function textOf(pattern: string | { readonly text: string }): string {
  return typeof pattern === "string" ? pattern : pattern.text
}

function* valueTests(specs: ValueSpecs | undefined, place: string): Steps<ValueTest[]> {
  const tests: ValueTest[] = []
  for (const [name, spec] of Object.entries(specs ?? {})) {
    const patterns =
      spec === true || ((yield* parseEach(spec, `${place}.${name}`, parseValuePattern)) as ValuePattern[])
    tests.push({ name: name.toLowerCase(), patterns })
  }
  return tests
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
