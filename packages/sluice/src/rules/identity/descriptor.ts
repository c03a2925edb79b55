// Rules about Envoy descriptors. A descriptor is a list of keys and values; a rule names all of its keys, in order.

import { costOf } from "../../call-options.js"
import { getOrAdd } from "../../get-or-add.js"
import type { RuleSpec } from "../language/schema.js"
import type { Steps } from "../language/steps.js"
import { matchesValue, parseValuePattern, type ValuePattern } from "../language/value-pattern.js"
import type { Matched, MatchReason } from "../match/index.js"

export interface DescriptorEntry {
  readonly key: string
  readonly value: string
}

export interface Descriptor {
  readonly entries: readonly DescriptorEntry[]
  /** Replaces the cost of the request for this descriptor. */
  readonly cost?: number | undefined
  /** Replaces the limits of the rules that the descriptor matches. */
  readonly limit?: DescriptorLimit | undefined
}

/** A limit that a descriptor brings along. It is a fixed window. */
export interface DescriptorLimit {
  /** 0 denies every request with a cost. */
  readonly limit: number
  readonly windowMs: number
}

/** A rule that a request matches, with the descriptor that matches it. */
export interface MatchedRule extends Matched {
  readonly descriptor?: Descriptor | undefined
  readonly at?: number | undefined
  readonly cost?: number | undefined
}

/** Why a rule matches, or the first part that does not. For rules about descriptors that part is the whole descriptor. */
export type WhyMatched =
  | MatchReason
  | {
      readonly matched: false
      readonly part: "descriptor"
      readonly name?: string
      readonly expected: string
      readonly found: string | undefined
    }

interface EntryPattern {
  readonly value: ValuePattern | undefined
  readonly exceptions: ReadonlySet<string>
  readonly globs: readonly ValuePattern[]
}

interface DescriptorRule {
  readonly index: number
  readonly domain: string
  readonly entries: readonly EntryPattern[]
  readonly text: string
}

/** Rules with exact values at the same positions: one lookup finds those that a descriptor may match. */
interface Shape {
  readonly exact: readonly number[]
  readonly byValues: Map<string, DescriptorRule[]>
}

/** Rules about descriptors with the same keys. */
interface KeysNode {
  /** The nodes of lists that are one key longer. */
  readonly longer: Map<string, KeysNode>
  /** Rules whose values are all exact, by these values. */
  readonly exact: Map<string, DescriptorRule[]>
  /** The others. */
  readonly open: Map<string, Shape>
}

export class DescriptorIndex {
  readonly #rules = new Map<number, DescriptorRule>()
  /** By domain, then by key after key. Joining the keys to one text would take most of the time of a lookup. */
  readonly #domains = new Map<string, KeysNode>()

  static *build(rules: readonly RuleSpec[]): Steps<DescriptorIndex> {
    const index = new DescriptorIndex()
    for (const [at, { match }] of rules.entries()) {
      if (match?.descriptor !== undefined)
        index.#add(yield* compile(at, match.domain ?? "", match.descriptor), match.descriptor)
      yield
    }
    return index
  }

  #add(rule: DescriptorRule, entries: readonly { readonly key: string }[]): void {
    this.#rules.set(rule.index, rule)
    let node = getOrAdd(this.#domains, rule.domain, newNode)
    for (const { key } of entries) node = getOrAdd(node.longer, key, newNode)
    const values = rule.entries.map(({ value }) => value)
    if (values.every((value) => typeof value === "string")) {
      getOrAdd(node.exact, joinedValues(values), () => []).push(rule)
    } else rulesLike(node.open, rule).push(rule)
  }

  match(domain: string, descriptors: readonly Descriptor[]): MatchedRule[] {
    const matched: MatchedRule[] = []
    const known = this.#domains.get(domain)
    for (let at = 0; at < descriptors.length; at++) {
      const descriptor = descriptors[at] as Descriptor
      const cost = descriptor.cost === undefined ? undefined : costOf(descriptor.cost)
      const node = known === undefined ? undefined : nodeOf(known, descriptor.entries)
      if (node === undefined) continue
      const meet = (rules: readonly DescriptorRule[]): void => {
        for (const rule of rules) {
          if (!fits(rule, descriptor.entries)) continue
          matched.push({ index: rule.index, params: undefined, pattern: undefined, descriptor, at, cost })
        }
      }
      const { entries } = descriptor
      if (node.exact.size > 0) {
        const text =
          entries.length === 1
            ? (entries[0] as DescriptorEntry).value
            : joinedValues(entries.map(({ value }) => value))
        meet(node.exact.get(text) ?? [])
      }
      for (const { exact, byValues } of node.open.values())
        meet(byValues.get(joinedValues(exact.map((i) => entries[i]?.value as string))) ?? [])
    }
    return matched
  }

  explain(
    index: number,
    request: { domain: string; descriptors: readonly Descriptor[] | undefined },
  ): WhyMatched {
    const rule = this.#rules.get(index) as DescriptorRule
    const met = this.match(request.domain, request.descriptors ?? []).find(
      (matched) => matched.index === index,
    )
    if (met !== undefined) return { matched: true, match: met }
    const found = request.descriptors
      ?.map((descriptor) => textOf(request.domain, descriptor.entries))
      .join("; ")
    return { matched: false, part: "descriptor", expected: rule.text, found }
  }
}

function* compile(
  index: number,
  domain: string,
  descriptor: NonNullable<NonNullable<RuleSpec["match"]>["descriptor"]>,
): Steps<DescriptorRule> {
  const place = `rules[${index}].match.descriptor`
  const entries: EntryPattern[] = []
  for (const [i, { value, not = [] }] of descriptor.entries()) {
    const exceptions: ValuePattern[] = []
    for (const text of not) {
      exceptions.push(parseValuePattern(text, `${place}[${i}].not`))
      yield
    }
    entries.push({
      value: value === undefined ? undefined : parseValuePattern(value, `${place}[${i}].value`),
      exceptions: new Set(exceptions.filter((pattern) => typeof pattern === "string")),
      globs: exceptions.filter((pattern) => typeof pattern !== "string"),
    })
    yield
  }
  return { index, domain, text: textOf(domain, descriptor), entries }
}

function fits({ entries }: DescriptorRule, found: readonly DescriptorEntry[]): boolean {
  for (let i = 0; i < entries.length; i++) {
    const { value, exceptions, globs } = entries[i] as EntryPattern
    const own = (found[i] as DescriptorEntry).value
    if (value !== undefined && !matchesValue(value, own)) return false
    if (exceptions.has(own) || globs.some((glob) => matchesValue(glob, own))) return false
  }
  return true
}

function newNode(): KeysNode {
  return { longer: new Map(), exact: new Map(), open: new Map() }
}

/** The rules with the same exact values at the same positions as this one. */
function rulesLike(shapes: Map<string, Shape>, { entries }: DescriptorRule): DescriptorRule[] {
  const exact = entries.flatMap(({ value }, i) => (typeof value === "string" ? [i] : []))
  const { byValues } = getOrAdd(shapes, exact.join(), () => ({ exact, byValues: new Map() }))
  const text = joinedValues(exact.map((i) => entries[i]?.value as string))
  return getOrAdd(byValues, text, () => [])
}

function nodeOf(root: KeysNode, entries: readonly DescriptorEntry[]): KeysNode | undefined {
  let node: KeysNode | undefined = root
  for (let i = 0; i < entries.length && node !== undefined; i++)
    node = node.longer.get((entries[i] as DescriptorEntry).key)
  return node
}

/** Several values are length-prefixed, so that different lists give different texts. */
function joinedValues(values: readonly string[]): string {
  if (values.length <= 1) return values[0] ?? ""
  return values.map((value) => `${value.length}:${value}`).join("")
}

function textOf(
  domain: string,
  entries: readonly { readonly key: string; readonly value?: string | undefined }[],
): string {
  return `${domain}: ${entries.map(({ key, value }) => `${key}=${value ?? "*"}`).join(", ")}`
}
