/** A rule's `match`: all given parts must match, and a list matches when one of its entries does. Empty: every request. */
export interface MatchSpec {
  /** `GET`. In any case; `GET` does not include HEAD. */
  readonly method?: OneOrMore | undefined
  /** `api.example.com`, or `*.example.com` for one or more labels in front. In any case; ports do not count. */
  readonly host?: OneOrMore | undefined
  /** `/v1/**`, `/users/:id`, `/files/*.png`: see path-pattern.ts. */
  readonly path?: OneOrMore | undefined
  readonly header?: ValueSpecs | undefined
  readonly query?: ValueSpecs | undefined
  readonly tier?: OneOrMore | undefined
}

export type OneOrMore = string | readonly string[]

/** Name, in any case → a value, a glob with `*`, a list of those, or true for any value. */
export type ValueSpecs = Readonly<Record<string, OneOrMore | true>>

/** What rules are matched against. */
export interface RequestFacts {
  readonly method: string
  /** As in the Host header. */
  readonly host: string
  /** Canonical: one slash between segments, no dot segments, nothing encoded that need not be. */
  readonly path: string
  /** What follows the `?`, as it came. It is only read when some rule needs it. */
  readonly query: string
  /** By lower-case name: one value, or all of them when it came more than once. */
  header(name: string): string | readonly string[] | undefined
  readonly tier: string | undefined
}

/** A rule that a request meets. */
export interface Matched {
  /** Of the rule, in the list the matcher was made of. */
  readonly index: number
  /** What `:name` segments stood for, if the pattern has any. */
  readonly params: Readonly<Record<string, string>> | undefined
  /** The path pattern that matched: the first of the rule's, as it is written. Undefined when it has none. */
  readonly pattern: string | undefined
}

/** Why a rule matches a request, or the first part that does not. */
export type MatchReason =
  | { readonly matched: true; readonly match: Matched }
  | {
      readonly matched: false
      readonly part: keyof MatchSpec
      /** Of the header or query parameter. */
      readonly name?: string
      readonly expected: string
      readonly found: string | undefined
    }

/** What a request is counted under when the key has `route` in it. A rule without a path is one route. */
export function routeOf(matched: Matched): string {
  return matched.pattern ?? "/**"
}
