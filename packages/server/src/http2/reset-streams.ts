/** Streams that are remembered. The frames of older ones have long arrived. */
const MOST_STREAMS = 1_000

/** Streams that were reset, and whose frames may still be on their way. */
export class ResetStreams {
  readonly #ids = new Set<number>()

  has(id: number): boolean {
    return this.#ids.has(id)
  }

  add(id: number): void {
    this.#ids.add(id)
    if (this.#ids.size <= MOST_STREAMS) return
    for (const oldest of this.#ids) {
      this.#ids.delete(oldest)
      return
    }
  }
}
