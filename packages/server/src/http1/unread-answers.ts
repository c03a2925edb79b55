// A client that asks and never reads its answers would keep them in memory, and its connection, for ever.

import type { Socket } from "node:net"

/** Nothing has to be out. */
const NOTHING = -1

/**
 * Hangs up on clients that do not read. What has been written to a connection must have left this process when the deadline
 * has passed once, or twice if it was written just after a look. A connection costs nothing between two looks.
 */
export class UnreadAnswers {
  /** How many bytes of each connection must be out at the next look. */
  readonly #due = new Map<Socket, number>()
  readonly #timer: NodeJS.Timeout

  constructor(deadlineMs: number) {
    this.#timer = setInterval(() => this.#look(), Math.max(1, deadlineMs)).unref()
  }

  watch(socket: Socket): void {
    this.#due.set(socket, NOTHING)
    socket.once("close", () => this.#due.delete(socket))
  }

  stop(): void {
    clearInterval(this.#timer)
  }

  #look(): void {
    for (const [socket, due] of this.#due) {
      const waiting = socket.writableLength
      const written = socket.bytesWritten
      if (waiting === 0) this.#due.set(socket, NOTHING)
      else if (due === NOTHING || written - waiting >= due) this.#due.set(socket, written)
      else socket.destroy()
    }
  }
}
