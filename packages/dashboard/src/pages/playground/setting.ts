// The setting of the playground, and its form in the address of the page.

import { MAX_LIMIT, SHAPES, type ShapeName, SLOTS, shapeOf, type Terms, WINDOWS } from "./traffic.js"

export interface Setting {
  readonly shape: ShapeName | "drawn"
  readonly terms: Terms
  readonly counts: readonly number[]
}

const USUAL: Terms = { limit: 10, windowSeconds: 10 }

/** Changes the limit or window. A predefined shape scales with it, a drawing stays. */
export function withTerms(setting: Setting, terms: Terms): Setting {
  const { shape, counts } = setting
  return { shape, terms, counts: shape === "drawn" ? counts : shapeOf(shape, terms) }
}

export function withShape({ terms }: Setting, shape: ShapeName): Setting {
  return { shape, terms, counts: shapeOf(shape, terms) }
}

/** The setting in an address. Invalid parts get their default. */
export function settingFrom(query: URLSearchParams): Setting {
  const limit = Number(query.get("limit"))
  const windowSeconds = Number(query.get("window"))
  const terms: Terms = {
    limit: isLimit(limit) ? limit : USUAL.limit,
    windowSeconds: WINDOWS.find((known) => known === windowSeconds) ?? USUAL.windowSeconds,
  }
  const drawn = unpacked(query.get("drawn") ?? "")
  if (drawn !== undefined) return { shape: "drawn", terms, counts: drawn }
  const shape = SHAPES.find((known) => known === query.get("shape")) ?? "boundary"
  return { shape, terms, counts: shapeOf(shape, terms) }
}

export function addressOf({ shape, terms, counts }: Setting): Record<string, string> {
  const shown = shape === "drawn" ? { drawn: packed(counts) } : { shape }
  return { ...shown, limit: String(terms.limit), window: String(terms.windowSeconds) }
}

export function isLimit(value: number): boolean {
  return Number.isInteger(value) && value >= 1 && value <= MAX_LIMIT
}

/** Run-length encoding: `0x40.10.3x2` is 40 zeros, a ten and two threes. */
function packed(counts: readonly number[]): string {
  const runs: [number, number][] = []
  for (const count of counts) {
    const last = runs.at(-1)
    if (last?.[0] === count) last[1]++
    else runs.push([count, 1])
  }
  return runs.map(([count, times]) => (times === 1 ? `${count}` : `${count}x${times}`)).join(".")
}

function unpacked(text: string): number[] | undefined {
  const counts: number[] = []
  for (const run of text.split(".")) {
    const [, count, times = "1"] = /^(\d{1,3})(?:x(\d{1,3}))?$/.exec(run) ?? []
    if (count === undefined || counts.length + Number(times) > SLOTS) return undefined
    counts.push(...new Array<number>(Number(times)).fill(Number(count)))
  }
  return counts.length === SLOTS ? counts : undefined
}
