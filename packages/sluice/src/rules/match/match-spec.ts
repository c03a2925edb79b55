/** The `match` of a rule. Every part that is given must match; a list matches if one of its entries does. */
export interface MatchSpec {
  /** `GET`, in upper or lower case. `GET` does not include `HEAD`. */
  readonly method?: OneOrMore | undefined
  /** `api.example.com`, or `*.example.com` for all hosts below it, in upper or lower case. The port is ignored. */
  readonly host?: OneOrMore | undefined
  /** `/v1/**`, `/users/:id`, `/files/*.png`: see path-pattern.ts. */
  readonly path?: OneOrMore | undefined
  readonly header?: ValueSpecs | undefined
  readonly query?: ValueSpecs | undefined
  readonly tier?: OneOrMore | undefined
}

export type OneOrMore = string | readonly string[]

/** By name, in upper or lower case: a value, a glob with `*`, a list of these, or true for any value. */
export type ValueSpecs = Readonly<Record<string, OneOrMore | true>>

/** The parts of a request that rules test. */
export interface RequestFacts {
  readonly method: string
  /** The host as in the Host header. */
  readonly host: string
  /** The canonical path, as `canonicalPath` in request/path.ts returns it. */
  readonly path: string
  /** The query string without the `?`, as the client sent it. The matcher reads it only if a rule tests the query. */
  readonly query: string
  /** A header by its lower-case name: its value, or all values if the request has it several times. */
  header(name: string): string | readonly string[] | undefined
  readonly tier: string | undefined
}

/** A rule that matches a request. */
export interface Matched {
  /** The index of the rule in the list that the matcher was compiled from. */
  readonly index: number
  /** The segments that the parameters of the pattern capture, by name. Undefined if it has no parameters. */
  readonly params: Readonly<Record<string, string>> | undefined
  /** The first path pattern of the rule that matches, as it is written. Undefined if the rule has no path. */
  readonly pattern: string | undefined
}

/** How a rule matches a request, or the first part that does not match. */
export type MatchReason =
  | { readonly matched: true; readonly match: Matched }
  | {
      readonly matched: false
      readonly part: keyof MatchSpec
      /** The name of the header or query parameter. */
      readonly name?: string
      readonly expected: string
      readonly found: string | undefined
    }

/** The route of a match, for `keyBy: route`. A rule without a path has one route for all requests. */
export function routeOf(matched: Matched): string {
  return matched.pattern ?? "/**"
}
