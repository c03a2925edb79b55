// One buffer that all connections are read into. For a socket that a server has accepted, node:net makes a new buffer of
// 64 KiB for each read, shrinks it to what came and passes it through a stream: with one request a read a tenth of all its
// time, with sixteen commands 5 to 8 %. A socket that is made by hand may bring a buffer along (`onread`), so the connection
// moves to one that does. Nothing else of node:net hands a connection over; where it cannot be done, reads are as they always
// are.

import { type OnReadOpts, type Server, Socket, type SocketConstructorOpts } from "node:net"

/** As large as what node:net reads at once. */
const BYTES = 65_536

/** What both of them have, and no type tells. */
interface Handled {
  _handle?: object | null
  /** Who counts it. */
  _server?: Server | null
}

/** Whether it has taken the bytes, which are valid until it returns. What it has not is the socket's to give, as ever. */
export type Take = (bytes: Buffer) => boolean

export class SharedReads {
  readonly #buffer = Buffer.allocUnsafeSlow(BYTES)

  /** The socket to go on with, of a connection that was just accepted. */
  open(accepted: Socket, take: Take): Socket {
    const buffer = this.#buffer
    const given = accepted as Handled
    const handle = given._handle
    // What is encrypted is read by somebody else, and of what was read before something may be on its way.
    if (!handle || "encrypted" in accepted || accepted.bytesRead > 0) {
      accepted.on("data", take)
      return accepted.resume()
    }
    const { _server } = given
    given._handle = null
    given._server = null
    // It has nothing to close any more.
    accepted.destroy()
    const options: SocketConstructorOpts & { handle: object; onread: OnReadOpts } = {
      handle,
      allowHalfOpen: accepted.allowHalfOpen,
      onread: {
        buffer,
        callback(length) {
          const bytes = buffer.subarray(0, length)
          return take(bytes) || socket.push(Buffer.from(bytes))
        },
      },
    }
    const socket = new Socket(options)
    ;(socket as Handled)._server = _server ?? null
    return socket.resume()
  }
}
