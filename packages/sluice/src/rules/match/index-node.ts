// The nodes of the index, one for each part of a request that rules are told apart by.

import type { ComparedRequest } from "./compared-request.js"
import type { Found } from "./found.js"
import type { GlobTable } from "./glob-table.js"
import type { IndexNode, Leads } from "./leads.js"
import type { PathTrie } from "./path-trie.js"

export class ByPath implements IndexNode {
  readonly #leads: Leads
  readonly #trie: PathTrie
  readonly #rest: number

  constructor(leads: Leads, trie: PathTrie, rest: number) {
    this.#leads = leads
    this.#trie = trie
    this.#rest = rest
  }

  collect(request: ComparedRequest, found: Found): void {
    for (const lead of this.#trie.find(request.compared)) this.#leads.follow(lead, request, found)
    this.#leads.follow(this.#rest, request, found)
  }
}

export class ByHost implements IndexNode {
  readonly #leads: Leads
  readonly #node: number
  readonly #rest: number
  /** Of what hosts must end with. */
  readonly #shortest: number
  readonly #longest: number

  /** Under a host, or under `.example.com` for all hosts that end so. */
  constructor(leads: Leads, hosts: ReadonlyMap<string, number>, rest: number) {
    this.#leads = leads
    this.#node = leads.byText.add(hosts)
    this.#rest = rest
    const lengths = [...hosts.keys()].filter((host) => host.startsWith(".")).map(({ length }) => length)
    this.#shortest = lengths.reduce((a, b) => Math.min(a, b), Number.POSITIVE_INFINITY)
    this.#longest = lengths.reduce((a, b) => Math.max(a, b), 0)
  }

  collect(request: ComparedRequest, found: Found): void {
    const { host } = request
    // A host that begins with a dot is none, and must not be taken for what others end with.
    if (!host.startsWith(".")) followText(this.#leads, this.#node, host, request, found)
    // From one dot to the next, where something could end so: never more than a host name has, whatever is sent as one.
    let dot = this.#longest === 0 ? -1 : host.indexOf(".", Math.max(1, host.length - this.#longest))
    while (dot >= 0 && host.length - dot >= this.#shortest) {
      followText(this.#leads, this.#node, host.slice(dot), request, found)
      dot = host.indexOf(".", dot + 1)
    }
    this.#leads.follow(this.#rest, request, found)
  }
}

/** By one word of the request: its method, its tier. */
export class ByWord implements IndexNode {
  readonly #leads: Leads
  readonly #wordOf: (request: ComparedRequest) => string | undefined
  readonly #node: number
  readonly #rest: number

  constructor(
    leads: Leads,
    wordOf: (request: ComparedRequest) => string | undefined,
    words: ReadonlyMap<string, number>,
    rest: number,
  ) {
    this.#leads = leads
    this.#wordOf = wordOf
    this.#node = leads.byText.add(words)
    this.#rest = rest
  }

  collect(request: ComparedRequest, found: Found): void {
    const word = this.#wordOf(request)
    if (word !== undefined) followText(this.#leads, this.#node, word, request, found)
    this.#leads.follow(this.#rest, request, found)
  }
}

/** What is filed under the values of one header or query parameter. */
export interface ValueLeads {
  readonly name: string
  /** Of the values that are no globs. */
  readonly node: number
  readonly globs: GlobTable | undefined
}

export class ByHeader implements IndexNode {
  readonly #leads: Leads
  readonly #headers: readonly ValueLeads[]
  readonly #rest: number

  constructor(leads: Leads, headers: readonly ValueLeads[], rest: number) {
    this.#leads = leads
    this.#headers = headers
    this.#rest = rest
  }

  collect(request: ComparedRequest, found: Found): void {
    for (const values of this.#headers) {
      const given = request.facts.header(values.name)
      if (typeof given === "object")
        for (const value of given) collectValue(this.#leads, values, value, request, found)
      else if (given !== undefined) collectValue(this.#leads, values, given, request, found)
    }
    this.#leads.follow(this.#rest, request, found)
  }
}

export class ByQuery implements IndexNode {
  readonly #leads: Leads
  readonly #parameters: ReadonlyMap<string, ValueLeads>
  readonly #rest: number

  constructor(leads: Leads, parameters: readonly ValueLeads[], rest: number) {
    this.#leads = leads
    this.#parameters = new Map(parameters.map((values) => [values.name, values]))
    this.#rest = rest
  }

  collect(request: ComparedRequest, found: Found): void {
    for (const [name, given] of request.query) {
      const values = this.#parameters.get(name)
      if (values === undefined) continue
      for (const value of given) collectValue(this.#leads, values, value, request, found)
    }
    this.#leads.follow(this.#rest, request, found)
  }
}

function collectValue(
  leads: Leads,
  { node, globs }: ValueLeads,
  value: string,
  request: ComparedRequest,
  found: Found,
): void {
  followText(leads, node, value, request, found)
  if (globs === undefined) return
  const met: number[] = []
  globs.find(value, 0, value.length, met)
  for (const lead of met) leads.follow(lead, request, found)
}

function followText(leads: Leads, node: number, text: string, request: ComparedRequest, found: Found): void {
  leads.follow(leads.byText.find(node, text), request, found)
}
