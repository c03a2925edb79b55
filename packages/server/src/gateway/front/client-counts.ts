/** Counts something per client, up to a maximum. */
export class ClientCounts {
  readonly #max: number
  readonly #counts = new Map<string, number>()

  constructor(max: number) {
    this.#max = max
  }

  /** Returns false when the client has reached the maximum. Call `leave` once for each true. */
  enter(client: string): boolean {
    const count = this.#counts.get(client) ?? 0
    if (count >= this.#max) return false
    this.#counts.set(client, count + 1)
    return true
  }

  leave(client: string): void {
    const count = this.#counts.get(client) ?? 0
    if (count <= 1) this.#counts.delete(client)
    else this.#counts.set(client, count - 1)
  }
}
