// How long the event loop of this process was blocked, by itself or by other work on the machine. A check cannot answer
// faster than the loop turns, so these pauses are subtracted from its latency.

export interface Pause {
  readonly from: number
  readonly to: number
}

const EVERY_MS = 2
/** Timers are precise to a millisecond; anything below this is not a pause. */
const LEAST_PAUSE_MS = 2

export class LagMeter {
  readonly pauses: Pause[] = []
  #timer: NodeJS.Timeout | undefined
  #due = 0

  start(): void {
    this.#due = performance.now() + EVERY_MS
    this.#timer = setTimeout(() => this.#tick(), EVERY_MS)
  }

  stop(): void {
    clearTimeout(this.#timer)
  }

  #tick(): void {
    const now = performance.now()
    if (now - this.#due > LEAST_PAUSE_MS) this.pauses.push({ from: this.#due, to: now })
    this.start()
  }
}

/** How long the loop was blocked between two times. */
export function heldUp(pauses: readonly Pause[], from: number, to: number): number {
  let sum = 0
  for (const pause of pauses) sum += Math.max(0, Math.min(pause.to, to) - Math.max(pause.from, from))
  return sum
}
