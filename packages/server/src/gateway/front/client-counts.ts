/** How many of something each client has, and whether it may have another. */
export class ClientCounts {
  readonly #max: number
  readonly #counts = new Map<string, number>()

  constructor(max: number) {
    this.#max = max
  }

  /** False when the client has as many as it may. Each that is true is followed by one `leave`. */
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
