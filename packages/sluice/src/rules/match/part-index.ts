// The index of a rule set is a tree. Each node of it divides rules by one part of their match, such as the path.

import { getOrAdd } from "../../get-or-add.js"
import { MAX_HOST_LENGTH } from "../language/host-pattern.js"
import type { ValuePattern } from "../language/value-pattern.js"
import type { ComparedRequest } from "./compared-request.js"
import { GlobIndex } from "./glob-index.js"
import type { Matched } from "./match-spec.js"
import { PathTrie } from "./path-trie.js"
import type { RuleMatch, ValueTest } from "./rule-match.js"

/** A node of the index, or a single rule. */
export interface IndexNode {
  /** Appends every rule that matches, in no particular order. A rule with several patterns may come several times. */
  collect(request: ComparedRequest, found: Matched[]): void
}

/** The rules that allow one value of a part. */
interface Group {
  readonly rules: RuleMatch[]
  /** Adds the node of these rules to the index. */
  addNode(node: IndexNode): void
}

/** Divides rules by one part of their match: `add` puts them into groups, and then each group gets a node of its own. */
export abstract class PartIndex implements IndexNode {
  /** The groups by a text that stands for the value. */
  readonly groups = new Map<string, Group>()
  /** The node of the rules that do not test this part. */
  rest: IndexNode | undefined = undefined

  /**
   * Adds a rule to the group of each value that it allows. The rule in the group is a copy that does not test this part again.
   * Returns the number of values; 0 if the rule does not test this part.
   */
  abstract add(rule: RuleMatch): number

  /** Collects from the node of each value that a request has. */
  protected abstract collectByValue(request: ComparedRequest, found: Matched[]): void

  collect(request: ComparedRequest, found: Matched[]): void {
    this.collectByValue(request, found)
    this.rest?.collect(request, found)
  }

  protected addToGroup(id: string, rule: RuleMatch, addNode: (node: IndexNode) => void): void {
    const group = this.groups.get(id)
    if (group === undefined) this.groups.set(id, { rules: [rule], addNode })
    // A list in a rule may have the same value twice.
    else if (group.rules.at(-1) !== rule) group.rules.push(rule)
  }
}

export class PathIndex extends PartIndex {
  readonly #nodes = new PathTrie<IndexNode>()

  add(rule: RuleMatch): number {
    const { paths = [] } = rule
    const rest = withoutPath(rule)
    for (const pattern of paths) this.addToGroup(pattern.form, rest, (node) => this.#nodes.set(pattern, node))
    return paths.length
  }

  protected collectByValue(request: ComparedRequest, found: Matched[]): void {
    for (const node of this.#nodes.find(request.segments)) node.collect(request, found)
  }
}

function withoutPath(rule: RuleMatch): RuleMatch {
  const [pattern, ...others] = rule.paths ?? []
  // Of several patterns, the test finds the first that matches.
  if (pattern === undefined || others.length > 0) return rule
  const { text, runs, params } = pattern
  if (params.length === 0) return rule.with({ paths: undefined, knownPath: text })
  // For a pattern with parameters and `**`, the test finds the segments that the parameters capture.
  return runs.length > 1 ? rule : rule.with({ paths: undefined, knownPath: text, knownParams: params })
}

export class HostIndex extends PartIndex {
  readonly #byHost = new Map<string, IndexNode>()
  /** By the suffix of a wildcard: `.example.com`. */
  readonly #bySuffix = new Map<string, IndexNode>()

  add(rule: RuleMatch): number {
    const { hosts = [] } = rule
    const rest = rule.with({ hosts: undefined })
    for (const { host, wildcard } of hosts) {
      const nodes = wildcard ? this.#bySuffix : this.#byHost
      this.addToGroup(host, rest, (node) => nodes.set(host, node))
    }
    return hosts.length
  }

  protected collectByValue(request: ComparedRequest, found: Matched[]): void {
    const { host } = request
    this.#byHost.get(host)?.collect(request, found)
    if (this.#bySuffix.size === 0) return
    // A client may send a host of any length. No pattern is longer than a host name can be.
    let dot = host.indexOf(".", Math.max(1, host.length - MAX_HOST_LENGTH))
    while (dot > 0) {
      this.#bySuffix.get(host.slice(dot))?.collect(request, found)
      dot = host.indexOf(".", dot + 1)
    }
  }
}

export class MethodIndex extends PartIndex {
  readonly #nodes = new Map<string, IndexNode>()

  add(rule: RuleMatch): number {
    const { methods = [] } = rule
    const rest = rule.with({ methods: undefined })
    for (const method of methods) this.addToGroup(method, rest, (node) => this.#nodes.set(method, node))
    return methods.length
  }

  protected collectByValue(request: ComparedRequest, found: Matched[]): void {
    this.#nodes.get(request.method)?.collect(request, found)
  }
}

export class TierIndex extends PartIndex {
  readonly #nodes = new Map<string, IndexNode>()

  add(rule: RuleMatch): number {
    const { tiers = [] } = rule
    const rest = rule.with({ tiers: undefined })
    for (const tier of tiers) this.addToGroup(tier, rest, (node) => this.#nodes.set(tier, node))
    return tiers.length
  }

  protected collectByValue(request: ComparedRequest, found: Matched[]): void {
    const { tier } = request.facts
    if (tier !== undefined) this.#nodes.get(tier)?.collect(request, found)
  }
}

/** The nodes of one header or query parameter, by its value. */
class ValueNodes {
  readonly #exact = new Map<string, IndexNode>()
  #globs: GlobIndex<IndexNode> | undefined = undefined

  set(pattern: ValuePattern, node: IndexNode): void {
    if (typeof pattern === "string") this.#exact.set(pattern, node)
    else {
      this.#globs ??= new GlobIndex()
      this.#globs.getOrAdd(pattern, () => node)
    }
  }

  collect(value: string, request: ComparedRequest, found: Matched[]): void {
    this.#exact.get(value)?.collect(request, found)
    if (this.#globs !== undefined) for (const node of this.#globs.find(value)) node.collect(request, found)
  }
}

/** An index by the values of headers or query parameters. A rule that tests several of them is indexed by one. */
abstract class ValueIndex extends PartIndex {
  protected readonly byName = new Map<string, ValueNodes>()
  readonly #part: "headers" | "queries"

  constructor(part: "headers" | "queries") {
    super()
    this.#part = part
  }

  add(rule: RuleMatch): number {
    const tests = rule[this.#part] ?? []
    const [best, patterns] = this.#leastShared(tests)
    if (best === undefined) return 0
    const others = tests.filter((test) => test !== best)
    const rest = rule.with({ [this.#part]: others.length === 0 ? undefined : others })
    for (const pattern of patterns) {
      this.addToGroup(groupId(best.name, pattern), rest, (node) =>
        getOrAdd(this.byName, best.name, () => new ValueNodes()).set(pattern, node),
      )
    }
    return patterns.length
  }

  /** The test that a rule shares with the fewest rules before it, which leaves the smallest groups. */
  #leastShared(tests: readonly ValueTest[]): [ValueTest, readonly ValuePattern[]] | [undefined, []] {
    let best:
      | { readonly test: ValueTest; readonly patterns: readonly ValuePattern[]; readonly shared: number }
      | undefined
    for (const test of tests) {
      const { name, patterns } = test
      if (patterns === true) continue
      const sizes = patterns.map((pattern) => this.groups.get(groupId(name, pattern))?.rules.length ?? 0)
      const shared = sizes.reduce((sum, size) => sum + size, 0)
      if (best === undefined || shared < best.shared) best = { test, patterns, shared }
    }
    return best === undefined ? [undefined, []] : [best.test, best.patterns]
  }
}

/** Neither names nor values have control characters. */
function groupId(name: string, pattern: ValuePattern): string {
  return `${name}\0${typeof pattern === "string" ? pattern : pattern.text}`
}

export class HeaderIndex extends ValueIndex {
  constructor() {
    super("headers")
  }

  protected collectByValue(request: ComparedRequest, found: Matched[]): void {
    for (const [name, nodes] of this.byName) {
      const given = request.facts.header(name)
      if (typeof given === "object") for (const value of given) nodes.collect(value, request, found)
      else if (given !== undefined) nodes.collect(given, request, found)
    }
  }
}

export class QueryIndex extends ValueIndex {
  constructor() {
    super("queries")
  }

  protected collectByValue(request: ComparedRequest, found: Matched[]): void {
    for (const [name, values] of request.query) {
      const nodes = this.byName.get(name)
      if (nodes === undefined) continue
      for (const value of values) nodes.collect(value, request, found)
    }
  }
}
