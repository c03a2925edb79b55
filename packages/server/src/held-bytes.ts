// Bounds the memory that the clients of a listener can occupy with half requests and unread answers. Each connection has a
// bound of its own, but a thousand connections at their bounds would hold gigabytes.

import type { Socket } from "node:net"

/** Bytes per connection that are not counted. Nearly every command or frame is smaller, so honest clients are not cut. */
const FREE_BYTES = 32_768

const MAX_BYTES = 67_108_864

/** Counts the bytes that all connections of a listener hold together, beyond what each holds for free. */
export class HeldBytes {
  readonly #max: number
  #held = 0

  constructor(max: number = MAX_BYTES) {
    this.#max = max
  }

  get held(): number {
    return this.#held
  }

  /** Adds to the count, or subtracts. False if the listener now holds too many bytes. */
  add(bytes: number): boolean {
    this.#held += bytes
    return this.#held <= this.#max
  }
}

/** The bytes that one connection holds. */
export class ConnectionBytes {
  readonly #all: HeldBytes
  #counted = 0

  constructor(all: HeldBytes) {
    this.#all = all
  }

  /** Sets how many bytes the connection holds. False if that is too much for the listener: then the connection must free some. */
  set(bytes: number): boolean {
    const counted = bytes > FREE_BYTES ? bytes - FREE_BYTES : 0
    if (counted === this.#counted) return true
    const change = counted - this.#counted
    this.#counted = counted
    return this.#all.add(change) || change < 0
  }
}

/** Measures for how long a client has read none of the output that waits for it. */
export class UnreadOutput {
  readonly #socket: Socket
  /** Bytes that have left the process. */
  #sent = 0
  #since: number | undefined

  constructor(socket: Socket) {
    this.#socket = socket
  }

  /** Returns the time in the unit of `now`. Call it regularly: the time counts from the first call that finds output. */
  age(now: number): number {
    const { writableLength, bytesWritten } = this.#socket
    const sent = bytesWritten - writableLength
    if (writableLength === 0) this.#since = undefined
    else if (this.#since === undefined || sent !== this.#sent) this.#since = now
    this.#sent = sent
    return this.#since === undefined ? 0 : now - this.#since
  }
}
