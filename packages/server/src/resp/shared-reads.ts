// One buffer that all connections are read into. For a socket that a server has accepted, node:net makes a new buffer of
// 64 KiB for each read, and shrinks it to what came: at sixteen commands a read, 5 to 8 % of the processor time of a command.
// A socket that is made by hand may bring a buffer along (`onread`), so the connection moves to one that does. Nothing else
// of node:net hands a connection over; where it cannot be done, reads are as they always are.

import { type OnReadOpts, Socket, type SocketConstructorOpts } from "node:net"

/** As large as what node:net reads at once. */
const BYTES = 65_536

/** What both of them have, and no type tells. */
interface Handled {
  _handle?: object | null
}

export class SharedReads {
  readonly #buffer = Buffer.allocUnsafeSlow(BYTES)

  /** The socket to go on with, of a connection that was accepted paused. What `take` is given is valid until it returns. */
  open(accepted: Socket, take: (bytes: Buffer) => void): Socket {
    const buffer = this.#buffer
    const given = accepted as Handled
    const handle = given._handle
    if (!handle) {
      accepted.on("data", take)
      return accepted.resume()
    }
    given._handle = null
    // It has nothing to close any more; its server no longer counts it.
    accepted.destroy()
    const options: SocketConstructorOpts & { handle: object; onread: OnReadOpts } = {
      handle,
      allowHalfOpen: true,
      onread: {
        buffer,
        callback(length) {
          take(buffer.subarray(0, length))
          return true
        },
      },
    }
    return new Socket(options).resume()
  }
}
