import type { Clock } from "../clock.js"
import { systemClock } from "../clock.js"

/** Where requests of a queueing leaky bucket wait for their turn. It has so many places and no more. */
export class HoldingRoom {
  readonly #max: number
  readonly #schedule: Required<Clock>["schedule"]
  #taken = 0

  constructor(max: number, clock: Clock = systemClock) {
    this.#max = max
    this.#schedule = (clock.schedule ?? systemClock.schedule).bind(clock)
  }

  /** How many requests wait now. */
  get taken(): number {
    return this.#taken
  }

  /** Takes a place. False when there is none; whoever got one must `wait`, which frees it. */
  enter(): boolean {
    if (this.#taken >= this.#max) return false
    this.#taken++
    return true
  }

  /** True when the time has come, false when the signal came first. No timer and no listener is left either way. */
  wait(ms: number, signal: AbortSignal | undefined): Promise<boolean> {
    return new Promise((resolve) => {
      const leave = (isDue: boolean): void => {
        this.#taken--
        cancel?.()
        signal?.removeEventListener("abort", onAbort)
        resolve(isDue)
      }
      const onAbort = (): void => leave(false)
      let cancel: (() => void) | undefined
      if (signal?.aborted === true) {
        onAbort()
        return
      }
      cancel = this.#schedule(ms, () => leave(true))
      signal?.addEventListener("abort", onAbort)
    })
  }
}
