import type { Duplex } from "node:stream"

/** More than a protocol's first words; nobody has said yet that they may be sent. */
const MOST_BYTES = 65_536

/**
 * What a client sends on an upgraded socket before the upstream has switched. It is read all along, since a socket that nobody
 * reads does not tell that its client has gone.
 */
export class EarlyBytes {
  readonly #socket: Duplex
  readonly #pieces: Buffer[]
  #length: number

  constructor(socket: Duplex, head: Buffer) {
    this.#socket = socket
    this.#pieces = [head]
    this.#length = head.length
    socket.on("data", this.#onData).on("end", this.#onEnd)
  }

  /** Whoever calls it reads the socket from now on, after these. */
  take(): Buffer {
    this.#socket.off("data", this.#onData).off("end", this.#onEnd)
    return Buffer.concat(this.#pieces)
  }

  readonly #onData = (bytes: Buffer): void => {
    this.#pieces.push(bytes)
    this.#length += bytes.length
    if (this.#length > MOST_BYTES) this.#socket.pause()
  }

  readonly #onEnd = (): void => {
    this.#socket.destroy()
  }
}
