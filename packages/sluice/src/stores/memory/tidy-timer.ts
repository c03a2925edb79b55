const TIDY_EVERY_MS = 1_000

/** Removes expired keys of a memory store in the background, while the store has keys. */
export class TidyTimer {
  readonly #now: () => number
  readonly #tidy: (now: number) => boolean
  #timer: ReturnType<typeof setInterval> | undefined

  /** `tidy` returns whether any key is left. */
  constructor(now: () => number, tidy: (now: number) => boolean) {
    this.#now = now
    this.#tidy = tidy
  }

  /** Does nothing if the timer runs already. */
  start(): void {
    if (this.#timer !== undefined) return
    this.#timer = setInterval(() => this.#run(), TIDY_EVERY_MS)
    // So that the process may end while the timer waits. Not every runtime has `unref`.
    if (typeof this.#timer === "object") this.#timer.unref?.()
  }

  stop(): void {
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  #run(): void {
    let now: number
    try {
      now = this.#now()
    } catch {
      // The user's clock threw. Checks throw that error; here it would end the process, so the next round tries again.
      return
    }
    if (!this.#tidy(now)) this.stop()
  }
}
