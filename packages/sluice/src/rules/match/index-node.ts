// The index of a rule set is a tree. A node knows one thing about a request and leads to the rules that may match because
// of it, and to those that do not care. It may name rules that do not match, never miss one that does: at the end, each
// rule is asked itself.

import type { ComparedRequest } from "./compared-request.js"
import type { GlobTable } from "./glob-table.js"
import type { Matched } from "./match-spec.js"
import { Params, type PathPattern } from "./path-pattern.js"
import type { PathTrie } from "./path-trie.js"
import type { RuleMatch } from "./rule-match.js"

export interface IndexNode {
  /** Adds every rule below that matches, in any order; one with several patterns may come more than once. */
  collect(request: ComparedRequest, found: Matched[]): void
}

/** The node of rules that are not told apart any further, for requests of which some parts are known to match. */
export function leafOf(rules: readonly RuleMatch[], known: number): IndexNode {
  const settled = rules.length === 1 ? rules[0]?.settledBy(known) : undefined
  if (settled === undefined) return new Leaf(rules, known)
  const { matched, pattern } = settled
  return pattern === undefined ? new Settled(matched) : new Captured(matched, pattern)
}

/** One rule that has been found to match on the way. Not looking at it again saves waiting for its memory. */
class Settled implements IndexNode {
  readonly #matched: Matched

  constructor(matched: Matched) {
    this.#matched = matched
  }

  collect(_request: ComparedRequest, found: Matched[]): void {
    found.push(this.#matched)
  }
}

/** The same with parameters to capture, of which there usually is one. */
class Captured implements IndexNode {
  readonly #index: number
  readonly #pattern: string
  readonly #name: string
  readonly #offset: number
  readonly #others: PathPattern["params"]

  constructor({ index }: Matched, { text, params: [first, ...others] }: PathPattern) {
    this.#index = index
    this.#pattern = text
    this.#name = first?.name ?? ""
    this.#offset = first?.offset ?? 0
    this.#others = others.length === 0 ? NO_OTHERS : others
  }

  collect({ captured }: ComparedRequest, found: Matched[]): void {
    const params: Record<string, string> = new Params()
    params[this.#name] = captured[this.#offset] as string
    for (const { name, offset } of this.#others) params[name] = captured[offset] as string
    found.push({ index: this.#index, params, pattern: this.#pattern })
  }
}

const NO_OTHERS: PathPattern["params"] = []

/** A few rules, asked one after the other. */
class Leaf implements IndexNode {
  readonly #rules: readonly RuleMatch[]
  /** What to ask each of them. */
  readonly #ask: readonly number[]

  constructor(rules: readonly RuleMatch[], known: number) {
    this.#rules = rules
    this.#ask = rules.map((rule) => rule.toAsk(known))
  }

  collect(request: ComparedRequest, found: Matched[]): void {
    for (let i = 0; i < this.#rules.length; i++) {
      const matched = this.#rules[i]?.match(request, this.#ask[i] as number)
      if (matched !== undefined) found.push(matched)
    }
  }
}

export class ByPath implements IndexNode {
  readonly #trie: PathTrie<IndexNode>
  readonly #rest: IndexNode | undefined

  constructor(trie: PathTrie<IndexNode>, rest: IndexNode | undefined) {
    this.#trie = trie
    this.#rest = rest
  }

  collect(request: ComparedRequest, found: Matched[]): void {
    for (const node of this.#trie.find(request)) node.collect(request, found)
    this.#rest?.collect(request, found)
  }
}

export class ByHost implements IndexNode {
  readonly #nodes: ReadonlyMap<string, IndexNode>
  readonly #rest: IndexNode | undefined
  /** Of what hosts must end with. */
  readonly #shortest: number
  readonly #longest: number

  /** Under a host, or under `.example.com` for all hosts that end so. */
  constructor(nodes: ReadonlyMap<string, IndexNode>, rest: IndexNode | undefined) {
    this.#nodes = nodes
    this.#rest = rest
    const lengths = [...nodes.keys()].filter((host) => host.startsWith(".")).map(({ length }) => length)
    this.#shortest = lengths.reduce((a, b) => Math.min(a, b), Number.POSITIVE_INFINITY)
    this.#longest = lengths.reduce((a, b) => Math.max(a, b), 0)
  }

  collect(request: ComparedRequest, found: Matched[]): void {
    const { host } = request
    // A host that begins with a dot is none, and must not be taken for what others end with.
    if (!host.startsWith(".")) this.#nodes.get(host)?.collect(request, found)
    // From one dot to the next, where something could end so: never more than a host name has, whatever is sent as one.
    let dot = this.#longest === 0 ? -1 : host.indexOf(".", Math.max(1, host.length - this.#longest))
    while (dot >= 0 && host.length - dot >= this.#shortest) {
      this.#nodes.get(host.slice(dot))?.collect(request, found)
      dot = host.indexOf(".", dot + 1)
    }
    this.#rest?.collect(request, found)
  }
}

/** By one word of the request: its method, its tier. */
export class ByWord implements IndexNode {
  readonly #wordOf: (request: ComparedRequest) => string | undefined
  readonly #nodes: ReadonlyMap<string, IndexNode>
  readonly #rest: IndexNode | undefined

  constructor(
    wordOf: (request: ComparedRequest) => string | undefined,
    nodes: ReadonlyMap<string, IndexNode>,
    rest: IndexNode | undefined,
  ) {
    this.#wordOf = wordOf
    this.#nodes = nodes
    this.#rest = rest
  }

  collect(request: ComparedRequest, found: Matched[]): void {
    const word = this.#wordOf(request)
    if (word !== undefined) this.#nodes.get(word)?.collect(request, found)
    this.#rest?.collect(request, found)
  }
}

/** What is filed under the values of one header or query parameter. */
export interface ValueNodes {
  readonly name: string
  readonly exact: Map<string, IndexNode>
  readonly globs: GlobTable<IndexNode>
}

export class ByHeader implements IndexNode {
  readonly #headers: readonly ValueNodes[]
  readonly #rest: IndexNode | undefined

  constructor(headers: readonly ValueNodes[], rest: IndexNode | undefined) {
    this.#headers = headers
    this.#rest = rest
  }

  collect(request: ComparedRequest, found: Matched[]): void {
    for (const values of this.#headers) {
      const value = request.facts.header(values.name)
      if (value !== undefined) collectValue(values, value, request, found)
    }
    this.#rest?.collect(request, found)
  }
}

export class ByQuery implements IndexNode {
  readonly #parameters: ReadonlyMap<string, ValueNodes>
  readonly #rest: IndexNode | undefined

  constructor(parameters: readonly ValueNodes[], rest: IndexNode | undefined) {
    this.#parameters = new Map(parameters.map((values) => [values.name, values]))
    this.#rest = rest
  }

  collect(request: ComparedRequest, found: Matched[]): void {
    for (const [name, given] of request.query) {
      const values = this.#parameters.get(name)
      if (values === undefined) continue
      for (const value of given) collectValue(values, value, request, found)
    }
    this.#rest?.collect(request, found)
  }
}

function collectValue(
  { exact, globs }: ValueNodes,
  value: string,
  request: ComparedRequest,
  found: Matched[],
): void {
  exact.get(value)?.collect(request, found)
  if (globs.isEmpty) return
  for (const node of globs.find(value)) node.collect(request, found)
}
