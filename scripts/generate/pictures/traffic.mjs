// The traffic for the pictures and the accuracy table. It is always the same: no clock, no Math.random.

export const WINDOW_MS = 60_000
export const LIMIT = 100

/** A minute that starts a window: 2026-01-01T10:30:00Z is a multiple of 60 s since 1970. */
export const BOUNDARY = Date.UTC(2026, 0, 1, 10, 30)

/** The time that the pictures show, in seconds from the boundary. */
export const BOUNDARY_VIEW = { from: -30, to: 100 }

/**
 * A greedy client that knows where the window ends: 100 requests in the 5 s before the boundary, 100 in the 5 s after it,
 * and from then on 2 a second, slightly more than the limit allows.
 *
 * @returns {number[]} the times of the requests in milliseconds since 1970
 */
export function boundaryTraffic() {
  const times = []
  for (let i = 0; i < 200; i++) times.push(BOUNDARY - 5000 + i * 50 + 25)
  for (let s = 5; s < BOUNDARY_VIEW.to; s += 0.5) times.push(BOUNDARY + s * 1000 + 25)
  return times
}

export const BURSTY_MINUTES = 20

/**
 * Twenty minutes of bursts, about as many requests as the limit allows on average: one every 2 s all the time, and every
 * 50 s a burst of 20 to 120 requests that lasts 1 to 10 s. All of it is random, from a fixed seed.
 *
 * @returns {number[]} the times of the requests in milliseconds since 1970
 */
export function burstyTraffic() {
  const random = seededRandom(25)
  const length = BURSTY_MINUTES * 60_000
  const pause = (/** @type {number} */ mean) => -Math.log(1 - random()) * mean
  const times = []
  for (let t = pause(2000); t < length; t += pause(2000)) times.push(t)
  for (let t = pause(50_000); t < length; t += pause(50_000)) {
    const count = 20 + Math.floor(random() * 101)
    const lasts = 1000 + random() * 9000
    for (let i = 0; i < count; i++) times.push(t + random() * lasts)
  }
  const inTime = times.filter((t) => t < length).sort((a, b) => a - b)
  // Rounded to milliseconds, because the last bit of Math.log may differ between machines.
  return inTime.map((t) => BOUNDARY + Math.round(t))
}

/** Mulberry32: the same numbers for the same seed on every machine. */
function seededRandom(/** @type {number} */ seed) {
  return () => {
    seed = (seed + 0x6d2b79f5) | 0
    let t = Math.imul(seed ^ (seed >>> 15), seed | 1)
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
  }
}
