// Rules about Envoy descriptors: a descriptor is a list of keys and values, and a rule names as many of them, in order.

import { costOf } from "../call-options.js"
import type { Matched, MatchReason } from "./match/index.js"
import { matchesValue, parseValuePattern, type ValuePattern } from "./match/value-pattern.js"
import type { RuleSpec } from "./schema.js"

export interface DescriptorEntry {
  readonly key: string
  readonly value: string
}

export interface Descriptor {
  readonly entries: readonly DescriptorEntry[]
  /** Takes the place of the request's cost for this descriptor alone. */
  readonly cost?: number | undefined
  /** Takes the place of the limits of the rules it meets. */
  readonly limit?: DescriptorLimit | undefined
}

/** A limit that a descriptor brings along, as a fixed window. */
export interface DescriptorLimit {
  /** 0 denies whatever costs something. */
  readonly limit: number
  readonly windowMs: number
}

/** A rule that a request meets, and by which of its descriptors. */
export interface MatchedRule extends Matched {
  readonly descriptor?: Descriptor | undefined
  readonly at?: number | undefined
  readonly cost?: number | undefined
}

/** Why a rule matches, or the first part that does not: of rules about descriptors, the descriptor as a whole. */
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
  readonly keys: string
  readonly entries: readonly EntryPattern[]
  readonly text: string
}

export class DescriptorIndex {
  readonly #rules = new Map<number, DescriptorRule>()
  /** Rules whose values are all exact, by domain, keys and values. */
  readonly #exact = new Map<string, DescriptorRule[]>()
  /** The others, by domain and keys. */
  readonly #open = new Map<string, DescriptorRule[]>()

  constructor(rules: readonly RuleSpec[]) {
    rules.forEach(({ match }, index) => {
      if (match?.descriptor === undefined) return
      const rule = compile(index, match.domain ?? "", match.descriptor)
      this.#rules.set(index, rule)
      const values = rule.entries.map(({ value }) => value)
      const isExact = values.every((value) => typeof value === "string")
      const [map, key] = isExact
        ? [this.#exact, joined(rule.domain, rule.keys, ...(values as string[]))]
        : [this.#open, joined(rule.domain, rule.keys)]
      map.set(key, [...(map.get(key) ?? []), rule])
    })
  }

  get isEmpty(): boolean {
    return this.#rules.size === 0
  }

  match(domain: string, descriptors: readonly Descriptor[]): MatchedRule[] {
    return descriptors.flatMap((descriptor, at) => {
      const keys = keysOf(descriptor.entries)
      const values = descriptor.entries.map(({ value }) => value)
      const cost = descriptor.cost === undefined ? undefined : costOf(descriptor.cost)
      const candidates = [
        ...(this.#exact.get(joined(domain, keys, ...values)) ?? []),
        ...(this.#open.get(joined(domain, keys)) ?? []),
      ]
      return candidates
        .filter((rule) => fits(rule, values))
        .map(({ index }) => ({
          index,
          params: undefined,
          pattern: undefined,
          descriptor,
          at,
          cost,
        }))
    })
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

function compile(
  index: number,
  domain: string,
  descriptor: NonNullable<NonNullable<RuleSpec["match"]>["descriptor"]>,
): DescriptorRule {
  const place = `rules[${index}].match.descriptor`
  return {
    index,
    domain,
    keys: keysOf(descriptor),
    text: textOf(domain, descriptor),
    entries: descriptor.map(({ value, not = [] }, i) => {
      const exceptions = not.map((text) => parseValuePattern(text, `${place}[${i}].not`))
      return {
        value: value === undefined ? undefined : parseValuePattern(value, `${place}[${i}].value`),
        exceptions: new Set(exceptions.filter((pattern) => typeof pattern === "string")),
        globs: exceptions.filter((pattern) => typeof pattern !== "string"),
      }
    }),
  }
}

function fits({ entries }: DescriptorRule, values: readonly string[]): boolean {
  return entries.every(({ value, exceptions, globs }, i) => {
    const found = values[i] as string
    return (
      (value === undefined || matchesValue(value, found)) &&
      !exceptions.has(found) &&
      !globs.some((glob) => matchesValue(glob, found))
    )
  })
}

function keysOf(entries: readonly { readonly key: string }[]): string {
  return joined(...entries.map(({ key }) => key))
}

/** Length-prefixed: no text of one part can pass for another list of parts. */
function joined(...parts: readonly string[]): string {
  return parts.map((part) => `${part.length}:${part}`).join("")
}

function textOf(
  domain: string,
  entries: readonly { readonly key: string; readonly value?: string | undefined }[],
): string {
  return `${domain}: ${entries.map(({ key, value }) => `${key}=${value ?? "*"}`).join(", ")}`
}
