import type { Clock } from "../clock.js"

/** Expired holds are looked for when there are so many, and again at twice what is left. */
const TIDY_AT = 1_024

/** Keys for which nothing is to be sent until a time. */
export class Holds {
  readonly #clock: Required<Clock>
  readonly #until = new Map<string, number>()
  #tidyAt = TIDY_AT

  constructor(clock: Required<Clock>) {
    this.#clock = clock
  }

  /** How many keys are remembered. Those whose time is over are forgotten sooner or later. */
  get size(): number {
    return this.#until.size
  }

  /** Nothing more for this key for so many milliseconds. A hold that lasts longer stays. */
  hold(key: string, ms: number): void {
    if (!(ms > 0)) return
    this.#until.set(key, Math.max(this.#until.get(key) ?? 0, this.#clock.now() + ms))
    if (this.#until.size >= this.#tidyAt) this.#tidy()
  }

  /** How long a key is still held, in milliseconds. */
  leftMs(key: string): number {
    const until = this.#until.get(key)
    if (until === undefined) return 0
    const left = until - this.#clock.now()
    if (left > 0) return left
    this.#until.delete(key)
    return 0
  }

  /**
   * Waits for the end of a hold, also of one that is made longer meanwhile. False when that would be after the
   * deadline; rejects with the signal's reason when aborted.
   */
  async end(key: string, deadline: number, signal: AbortSignal | undefined): Promise<boolean> {
    for (let left = this.leftMs(key); left > 0; left = this.leftMs(key)) {
      if (this.#clock.now() + left > deadline) return false
      await this.#sleep(left, signal)
    }
    return true
  }

  /** Leaves no timer and no listener, whichever way it ends. */
  #sleep(ms: number, signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted === true) {
        reject(signal.reason)
        return
      }
      const cancel = this.#clock.schedule(ms, () => {
        signal?.removeEventListener("abort", onAbort)
        resolve()
      })
      const onAbort = (): void => {
        cancel()
        reject(signal?.reason)
      }
      signal?.addEventListener("abort", onAbort, { once: true })
    })
  }

  #tidy(): void {
    for (const key of [...this.#until.keys()]) this.leftMs(key)
    this.#tidyAt = Math.max(TIDY_AT, this.#until.size * 2)
  }
}
