// Decides which descriptor of one level an entry of a request belongs to. envoyproxy/ratelimit uses the exact value, else the
// first wildcard in the order of the file, else the key without a value, and tries no other. Rules are matched independently
// of each other, so that each one excludes by `not` the values that belong to a descriptor before it.

import { getOrAdd } from "../../get-or-add.js"
import type { RuleSpec } from "../language/schema.js"
import { type Glob, matchesGlob, parseGlob } from "../language/value-pattern.js"
import { compositeKey, type EnvoyDescriptor } from "./envoy-file.js"

type Entry = NonNullable<NonNullable<RuleSpec["match"]>["descriptor"]>[number]

/** The entry of the rule, or the descriptor before it that matches all of its values. */
export type Reached = { readonly entry: Entry } | { readonly hiddenBy: EnvoyDescriptor }

interface Wildcard {
  readonly descriptor: EnvoyDescriptor
  readonly glob: Glob
}

/** The descriptors of one level with the same key. */
interface Group {
  readonly exact: string[]
  readonly wildcards: Wildcard[]
}

export function reachedOf(siblings: readonly EnvoyDescriptor[]): Map<EnvoyDescriptor, Reached> {
  const groups = new Map<string, Group>()
  for (const descriptor of siblings) {
    const { key, value } = descriptor
    const group = getOrAdd(groups, key, () => ({ exact: [], wildcards: [] }))
    if (isWildcard(descriptor)) group.wildcards.push({ descriptor, glob: parseGlob(value) })
    else if (value !== "") group.exact.push(value)
  }
  return new Map(
    siblings.map((descriptor) => [descriptor, reached(descriptor, groups.get(descriptor.key) as Group)]),
  )
}

export function isWildcard({ value }: EnvoyDescriptor): boolean {
  return value.includes("*")
}

function reached(descriptor: EnvoyDescriptor, { exact, wildcards }: Group): Reached {
  const { key, value } = descriptor
  if (value !== "" && !isWildcard(descriptor)) return { entry: { key, value } }
  // A key without a value matches like `*`, after all wildcards.
  const at = wildcards.findIndex((wildcard) => wildcard.descriptor === descriptor)
  const own = parseGlob(value === "" ? "*" : value)
  const before = at < 0 ? wildcards : wildcards.slice(0, at)
  const hiding = before.find(({ glob }) => covers(glob, own))
  if (hiding !== undefined) return { hiddenBy: hiding.descriptor }
  const globs = before
    .map(({ glob }) => glob)
    .filter((glob) => mayMeet(glob, own))
    .filter((glob, _, all) => !all.some((other) => other !== glob && covers(other, glob)))
  const values = exact.filter(
    (text) => matchesGlob(own, text) && !globs.some((glob) => matchesGlob(glob, text)),
  )
  const not = [...values, ...globs.map(({ text }) => text)]
  return {
    entry: { key, ...(value === "" ? {} : { value }), ...(not.length === 0 ? {} : { not }) },
  }
}

/** Whether every text that matches the inner glob matches the outer one. Only a star of the outer can match a star. */
function covers(outer: Glob, inner: Glob): boolean {
  return matchesGlob(outer, inner.text)
}

/** False only when no text can match both. */
function mayMeet(a: Glob, b: Glob): boolean {
  return (
    (a.prefix.startsWith(b.prefix) || b.prefix.startsWith(a.prefix)) &&
    (a.suffix.endsWith(b.suffix) || b.suffix.endsWith(a.suffix))
  )
}

/**
 * Another key of the same level whose values envoyproxy/ratelimit may take for this descriptor: it joins key and value by
 * `_`, so that `a` with `b_c` is the same as `a_b` with `c`. Rules compare keys whole.
 */
export function confusedKey(descriptor: EnvoyDescriptor, keys: ReadonlySet<string>): string | undefined {
  const joined = compositeKey(descriptor)
  const fixed = joined.split("*", 1)[0] as string
  const others = [...joined.matchAll(/_/g)].map(({ index }) => joined.slice(0, index))
  const isOther = (key: string) => key !== descriptor.key && keys.has(key)
  if (!isWildcard(descriptor)) return (descriptor.value === "" ? others : [...others, joined]).find(isOther)
  return others.find(isOther) ?? [...keys].find((key) => isOther(key) && `${key}_`.startsWith(fixed))
}
