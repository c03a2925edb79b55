// A client that sends requests and never reads the answers would occupy memory and a connection for ever.

import type { Socket } from "node:net"

/** Stands for a connection without unsent bytes. */
const NOTHING = -1

/**
 * Disconnects clients that do not read. Bytes that were written to a connection must leave this process within one or two
 * intervals of the check. Between two checks a connection costs nothing.
 */
export class UnreadAnswers {
  /** How many bytes of each connection must have been sent by the next check. */
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
