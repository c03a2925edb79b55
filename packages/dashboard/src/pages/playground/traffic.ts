// Traffic of one client over a minute, as requests per slot: picked, or drawn by hand.

export const SECONDS = 60
export const SLOTS = 120
export const SLOT_MS = (SECONDS * 1000) / SLOTS

export const SHAPES = ["boundary", "burst", "steady", "ramp", "waves", "hammer", "random"] as const
export type ShapeName = (typeof SHAPES)[number]

/** What is compared: one limit, by several algorithms. */
export interface Terms {
  readonly limit: number
  readonly windowSeconds: number
}

export const WINDOWS = [5, 10, 15, 20, 30] as const
export const MOST_LIMIT = 100

/** The highest that a slot can be drawn: enough for a burst of more than the limit. */
export function ceilingOf({ limit }: Terms): number {
  return Math.max(4, Math.ceil(limit * 1.5))
}

/** Requests per slot. Made for the limit: each shape shows something whatever the numbers are. */
export function shapeOf(name: ShapeName, terms: Terms): number[] {
  const { limit, windowSeconds } = terms
  const window = windowSeconds * (SLOTS / SECONDS)
  /** As many per slot as the limit allows in the long run. */
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
  const most = ceilingOf(terms)
  return perSlot[name]().map((count) => Math.min(most, count))
}

/** Half a second before a window ends a whole limit, and half a second after it another. */
function boundaryBursts(limit: number, window: number): number[] {
  const counts = new Array<number>(SLOTS).fill(0)
  for (let boundary = window; boundary < SLOTS; boundary += 2 * window) {
    counts[boundary - 1] = limit
    counts[boundary] = limit
  }
  return counts
}

/** Whole requests, with the fractions carried on, so that their sum is right. */
function spread(rate: (slot: number) => number): number[] {
  let owed = 0
  return Array.from({ length: SLOTS }, (_, slot) => {
    owed += rate(slot)
    // Sums of fractions fall short of whole numbers by less than this.
    const count = Math.floor(owed + 1e-9)
    owed -= count
    return count
  })
}

/** The same each time: two people who talk about it see the same. */
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

/** When each request arrives, in whole milliseconds from the start: those of a slot evenly spread in it. */
export function arrivalsOf(counts: readonly number[]): number[] {
  return counts.flatMap((count, slot) =>
    Array.from({ length: count }, (_, i) => Math.floor((slot + (i + 0.5) / count) * SLOT_MS)),
  )
}

/** With every slot between two places of the pointer set, so that a fast hand leaves no gaps. */
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
