import { comparedHost } from "../../request/host.js"
import type { RequestFacts } from "./match-spec.js"
import { capturedSegments } from "./path-form.js"
import { pathScan, segmentsOf } from "./path-scan.js"
import { readQuery } from "./query.js"

const NO_QUERY: ReadonlyMap<string, readonly string[]> = new Map()

/** One request in the forms in which it is compared, each made when a rule first needs it. */
export class ComparedRequest {
  readonly facts: RequestFacts
  readonly #queryNames: ReadonlySet<string>
  #method: string | undefined = undefined
  #host: string | undefined = undefined
  #compared: string | undefined = undefined
  #segments: readonly string[] | undefined = undefined
  #captured: readonly string[] | undefined = undefined
  #query: ReadonlyMap<string, readonly string[]> | undefined = undefined

  /** `queryNames` are those that some rule asks for. */
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

  /** The path in its compared form. */
  get compared(): string {
    this.#compared ??= pathScan.comparedFormOf(this.facts.path)
    return this.#compared
  }

  get segments(): readonly string[] {
    this.#segments ??= segmentsOf(this.compared)
    return this.#segments
  }

  /** The same segments as `segments`, in the case they came in. */
  get captured(): readonly string[] {
    const { path } = this.facts
    this.#captured ??= path === this.compared ? this.segments : capturedSegments(path)
    return this.#captured
  }

  get query(): ReadonlyMap<string, readonly string[]> {
    const { query } = this.facts
    this.#query ??= query === "" ? NO_QUERY : readQuery(query, this.#queryNames)
    return this.#query
  }
}
