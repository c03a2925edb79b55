// What envoyproxy/ratelimit does with a request, as plainly as it can be said: a walk through nested maps, and counters
// under joined texts. Nothing in it knows of rules.

import type { Descriptor } from "../identity/descriptor.js"

export interface WalkLimit {
  readonly unit?: string
  readonly requests_per_unit?: number
  readonly unlimited?: boolean
  readonly name?: string
  readonly replaces?: readonly { readonly name: string }[]
}

export interface WalkDescriptor {
  readonly key: string
  readonly value?: string
  readonly rate_limit?: WalkLimit
  readonly shadow_mode?: boolean
  readonly share_threshold?: boolean
  readonly descriptors?: readonly WalkDescriptor[]
}

/** A limit that a descriptor of a request has met, and the counter it is counted by. */
export interface Met {
  readonly descriptor: number
  readonly limit: WalkLimit
  readonly isShadow: boolean
  readonly counter: string
}

export const SECONDS: Readonly<Record<string, number>> = {
  second: 1,
  minute: 60,
  hour: 3_600,
  day: 86_400,
  week: 604_800,
  month: 2_592_000,
  year: 31_536_000,
}

/** The limits that count for a request: those its descriptors end at, without the unlimited and the replaced. */
export function limitsMet(
  domain: string,
  config: readonly WalkDescriptor[],
  descriptors: readonly Descriptor[],
): Met[] {
  const ends = descriptors.map(({ entries }, descriptor) => {
    const end = walk(config, entries)
    return end === undefined ? undefined : { ...end, descriptor, counter: `${domain}_${end.counter}` }
  })
  const replaced = new Set(ends.flatMap((end) => (end?.limit.replaces ?? []).map(({ name }) => name)))
  return ends.filter(
    (end): end is Met => end !== undefined && !end.limit.unlimited && !replaced.has(end.limit.name ?? ""),
  )
}

function walk(config: readonly WalkDescriptor[], entries: Descriptor["entries"]) {
  let level = config
  let counter = ""
  for (let i = 0; i < entries.length; i++) {
    const { key, value } = entries[i] as Descriptor["entries"][number]
    const beside = level.filter((child) => child.key === key)
    const next =
      beside.find((child) => child.value === value && !child.value.includes("*")) ??
      beside.find((child) => child.value?.includes("*") && wildcard(child.value).test(value)) ??
      beside.find((child) => child.value === undefined)
    if (next === undefined) return undefined
    counter += JSON.stringify([key, next.share_threshold ? next.value : value])
    if (i === entries.length - 1) {
      const { rate_limit: limit, shadow_mode: isShadow = false } = next
      return limit === undefined ? undefined : { limit, isShadow, counter }
    }
    level = next.descriptors ?? []
  }
  return undefined
}

function wildcard(text: string): RegExp {
  const pieces = text.split("*").map((piece) => piece.replace(/[^A-Za-z0-9]/g, "\\$&"))
  return new RegExp(`^${pieces.join("[^]*")}$`)
}
