// How long the event loop of this process was held up, by itself or by a machine with other work: a check cannot answer
// faster than the loop turns, so its latency is looked at with these pauses taken out.

export interface Pause {
  readonly from: number
  readonly to: number
}

const EVERY_MS = 2
/** Timers have the granularity of a millisecond; what is below this is no pause. */
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

/** How much of a stretch of time the loop was held up. */
export function heldUp(pauses: readonly Pause[], from: number, to: number): number {
  let sum = 0
  for (const pause of pauses) sum += Math.max(0, Math.min(pause.to, to) - Math.max(pause.from, from))
  return sum
}
