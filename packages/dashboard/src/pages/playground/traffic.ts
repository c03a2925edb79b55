// The traffic of one client, as requests per slot: a predefined shape, or drawn by the user.

import type { TwoWindows } from "./calendar.js"

export const SLOTS = 120

export const SHAPES = ["boundary", "burst", "steady", "ramp", "waves", "hammer", "random"] as const
export type ShapeName = (typeof SHAPES)[number]

/** The limit that the algorithms apply. */
export interface Terms {
  readonly limit: number
  /** The length of the window. For windows of the calendar, their usual length. */
  readonly windowSeconds: number
  readonly calendar?: TwoWindows
}

/** The time that the page shows: a minute, or two windows of the calendar. */
export interface Span {
  /** Milliseconds since 1970. */
  readonly start: number
  readonly length: number
  readonly slotMs: number
  /** Where one fixed window ends and the next one starts, in milliseconds from the start. */
  readonly boundaries: readonly number[]
}

const MINUTE = 60_000
/** A multiple of every window, so that aligned windows start at the start of the time line. */
const MINUTE_START = Date.UTC(2026, 0, 1)

export function spanOf({ windowSeconds, calendar }: Terms): Span {
  if (calendar !== undefined) {
    const { start, boundary, end } = calendar
    const length = end - start
    return { start, length, slotMs: length / SLOTS, boundaries: [boundary - start] }
  }
  const boundaries = Array.from(
    { length: Math.floor(MINUTE / 1000 / windowSeconds) - 1 },
    (_, i) => (i + 1) * windowSeconds * 1000,
  )
  return { start: MINUTE_START, length: MINUTE, slotMs: MINUTE / SLOTS, boundaries }
}

export const WINDOWS = [5, 10, 15, 20, 30] as const
export const MAX_LIMIT = 100

/** The highest number of requests in a slot: enough for a burst over the limit. */
export function ceilingOf({ limit }: Terms): number {
  return Math.max(4, Math.ceil(limit * 1.5))
}

/** Requests per slot. A shape scales with the limit, so that it shows its effect with any numbers. */
export function shapeOf(name: ShapeName, terms: Terms): number[] {
  const { limit, windowSeconds } = terms
  const span = spanOf(terms)
  const window = Math.round((windowSeconds * 1000) / span.slotMs)
  /** The requests per slot that the limit allows in the long run. */
  const fair = limit / window
  const perSlot: Record<ShapeName, () => number[]> = {
    boundary: () => boundaryBursts(limit, span),
    burst: () => spread((slot) => (slot % (2 * window) === 2 ? Math.ceil(1.4 * limit) : 0)),
    steady: () => spread(() => 1.5 * fair),
    ramp: () => spread((slot) => (3 * fair * slot) / SLOTS),
    waves: () => spread((slot) => 1.3 * fair * (1 - Math.cos((slot / SLOTS) * 6 * Math.PI))),
    hammer: () => spread((slot) => (slot % (2 * window) < window ? 4 * fair : 0)),
    random: () => spread(noise(fair)),
  }
  const max = ceilingOf(terms)
  return perSlot[name]().map((count) => Math.min(max, count))
}

/** A burst of the whole limit in the last slot of every other window, and another in the first slot of the next window. */
function boundaryBursts(limit: number, { boundaries, slotMs }: Span): number[] {
  const counts = new Array<number>(SLOTS).fill(0)
  for (const [i, boundary] of boundaries.entries()) {
    if (i % 2 === 1) continue
    // Months differ in length, so that a boundary can be within a slot.
    counts[Math.floor(boundary / slotMs) - 1] = limit
    counts[Math.ceil(boundary / slotMs)] = limit
  }
  return counts
}

/** Rounds rates to whole requests and carries the fractions over, so that the sum is right. */
function spread(rate: (slot: number) => number): number[] {
  let owed = 0
  return Array.from({ length: SLOTS }, (_, slot) => {
    owed += rate(slot)
    // Rounding errors of the sum are smaller than this.
    const count = Math.floor(owed + 1e-9)
    owed -= count
    return count
  })
}

/** Pseudo-random rates, the same in every browser, so that people can talk about what they see. */
function noise(fair: number): () => number {
  let state = 20_261
  let heat = 1
  return () => {
    state = (state * 48_271) % 2_147_483_647
    const roll = state / 2_147_483_647
    heat = roll < 0.06 ? 7 : Math.max(0.4, heat * 0.8)
    return fair * heat * 2 * roll
  }
}

/** The arrival times in whole milliseconds. The requests of a slot are evenly spread over it. */
export function arrivalsOf(counts: readonly number[], { slotMs }: Span): number[] {
  return counts.flatMap((count, slot) =>
    Array.from({ length: count }, (_, i) => Math.floor((slot + (i + 0.5) / count) * slotMs)),
  )
}

/** Draws a line between two positions of the pointer, so that fast movements leave no gaps. */
export function drawnBetween(
  counts: readonly number[],
  from: { readonly slot: number; readonly count: number },
  to: { readonly slot: number; readonly count: number },
): number[] {
  const drawn = [...counts]
  const steps = Math.max(1, Math.abs(to.slot - from.slot))
  for (let i = 0; i <= steps; i++) {
    const slot = from.slot + Math.round(((to.slot - from.slot) * i) / steps)
    if (slot < 0 || slot >= SLOTS) continue
    drawn[slot] = Math.max(0, Math.round(from.count + ((to.count - from.count) * i) / steps))
  }
  return drawn
}
