import { comparedHost } from "../../request/host.js"
import { asciiLowerCase, pathSegments } from "../language/path-pattern.js"
import type { RequestFacts } from "./match-spec.js"
import { readQuery } from "./query.js"

/** A request in the form in which it is compared with rules. Each part is computed when a rule first needs it. */
export class ComparedRequest {
  readonly facts: RequestFacts
  readonly #queryNames: ReadonlySet<string>
  #method: string | undefined = undefined
  #host: string | undefined = undefined
  #segments: readonly string[] | undefined = undefined
  #originalSegments: readonly string[] | undefined = undefined
  #query: ReadonlyMap<string, readonly string[]> | undefined = undefined

  /** `queryNames` are the names of the query parameters that any rule tests. */
  constructor(facts: RequestFacts, queryNames: ReadonlySet<string>) {
    this.facts = facts
    this.#queryNames = queryNames
  }

  get method(): string {
    this.#method ??= this.facts.method.toUpperCase()
    return this.#method
  }

  get host(): string {
    this.#host ??= comparedHost(this.facts.host)
    return this.#host
  }

  /** The segments of the path in lower case. */
  get segments(): readonly string[] {
    this.#segments ??= /[A-Z%]/.test(this.facts.path)
      ? this.originalSegments.map(asciiLowerCase)
      : this.originalSegments
    return this.#segments
  }

  /** The same segments in the case in which the client sent them. */
  get originalSegments(): readonly string[] {
    this.#originalSegments ??= pathSegments(this.facts.path)
    return this.#originalSegments
  }

  /** The values of each query parameter that a rule tests. */
  get query(): ReadonlyMap<string, readonly string[]> {
    this.#query ??= readQuery(this.facts.query, this.#queryNames)
    return this.#query
  }
}
