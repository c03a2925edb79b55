// One minute of traffic of one client, as requests per slot: a predefined shape, or drawn by the user.

export const SECONDS = 60
export const SLOTS = 120
export const SLOT_MS = (SECONDS * 1000) / SLOTS

export const SHAPES = ["boundary", "burst", "steady", "ramp", "waves", "hammer", "random"] as const
export type ShapeName = (typeof SHAPES)[number]

/** The limit that the algorithms apply. */
export interface Terms {
  readonly limit: number
  readonly windowSeconds: number
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
  const window = windowSeconds * (SLOTS / SECONDS)
  /** The requests per slot that the limit allows in the long run. */
  const fair = limit / window
  const perSlot: Record<ShapeName, () => number[]> = {
    boundary: () => boundaryBursts(limit, window),
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

/** A burst of the whole limit in the last half second of a window, and another in the first half second of the next. */
function boundaryBursts(limit: number, window: number): number[] {
  const counts = new Array<number>(SLOTS).fill(0)
  for (let boundary = window; boundary < SLOTS; boundary += 2 * window) {
    counts[boundary - 1] = limit
    counts[boundary] = limit
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
export function arrivalsOf(counts: readonly number[]): number[] {
  return counts.flatMap((count, slot) =>
    Array.from({ length: count }, (_, i) => Math.floor((slot + (i + 0.5) / count) * SLOT_MS)),
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
