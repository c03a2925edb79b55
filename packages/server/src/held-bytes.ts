// Bounds the memory that clients make a listener hold: requests that are not whole, and answers that nobody takes. Each
// connection has bounds of its own, but a thousand connections at their bounds would hold gigabytes.

/** What a connection may hold without asking: more than nearly every command or frame has, so that no honest client is cut. */
const FREE_BYTES = 32_768

const MOST_BYTES = 67_108_864

/** The bytes that all connections of a listener may hold together, beyond what each may hold without asking. */
export class HeldBytes {
  readonly #most: number
  #held = 0

  constructor(most: number = MOST_BYTES) {
    this.#most = most
  }

  get held(): number {
    return this.#held
  }

  /** Counts some more, or fewer. False when the listener holds too many now. */
  add(bytes: number): boolean {
    this.#held += bytes
    return this.#held <= this.#most
  }
}

/** What one connection holds. */
export class ConnectionBytes {
  readonly #all: HeldBytes
  #counted = 0

  constructor(all: HeldBytes) {
    this.#all = all
  }

  /** The connection holds so many bytes now. False when that is too much for the listener: then it has to let go of some. */
  set(bytes: number): boolean {
    const counted = bytes > FREE_BYTES ? bytes - FREE_BYTES : 0
    if (counted === this.#counted) return true
    const change = counted - this.#counted
    this.#counted = counted
    return this.#all.add(change) || change < 0
  }
}
