// The body of a request on its way to the upstream, no faster than the upstream takes it.

import type { IncomingMessage } from "node:http"
import type { Connection } from "./connection.js"
import { passedTrailers } from "./header-kinds.js"
import type { BodyFraming } from "./request-head.js"

export interface UploadWatch {
  moved(bytes: number): void
  sent(): void
  /** The client sent more or less than it had announced. */
  miscounted(): void
}

export class Upload {
  readonly #request: IncomingMessage
  readonly #connection: Connection
  readonly #framing: BodyFraming
  readonly #watch: UploadWatch
  #bytes = 0
  #isWaiting = false

  constructor(request: IncomingMessage, connection: Connection, framing: BodyFraming, watch: UploadWatch) {
    this.#request = request
    this.#connection = connection
    this.#framing = framing
    this.#watch = watch
  }

  start(): void {
    this.#request.on("data", this.#onData).on("end", this.#onEnd)
  }

  /** Whether the upstream has to take what it has before more is read. */
  get isWaiting(): boolean {
    return this.#isWaiting
  }

  drained(): void {
    if (!this.#isWaiting) return
    this.#isWaiting = false
    this.#request.resume()
  }

  /** Reads no more. */
  stop(): void {
    this.#request.off("data", this.#onData).off("end", this.#onEnd)
    this.#request.pause()
  }

  readonly #onData = (bytes: Buffer): void => {
    const connection = this.#connection
    this.#bytes += bytes.length
    this.#watch.moved(bytes.length)
    let hasRoom: boolean
    if (this.#framing === "chunked") {
      connection.socket.cork()
      connection.write(`${bytes.length.toString(16)}\r\n`)
      connection.write(bytes)
      hasRoom = connection.write("\r\n")
      process.nextTick(uncork, connection)
    } else if (this.#bytes > (this.#framing as number)) {
      this.#watch.miscounted()
      return
    } else hasRoom = connection.write(bytes)
    if (hasRoom) return
    this.#isWaiting = true
    this.#request.pause()
  }

  readonly #onEnd = (): void => {
    if (this.#framing === "chunked") this.#connection.write(`0\r\n${this.#trailers()}\r\n`)
    else if (this.#bytes !== this.#framing) {
      this.#watch.miscounted()
      return
    }
    this.#connection.sent()
    this.#watch.sent()
  }

  #trailers(): string {
    const { rawTrailers } = this.#request
    if (rawTrailers.length === 0) return ""
    const passed = passedTrailers(rawTrailers)
    let text = ""
    for (let i = 0; i < passed.length; i += 2) text += `${passed[i]}: ${passed[i + 1]}\r\n`
    return text
  }
}

function uncork(connection: Connection): void {
  connection.socket.uncork()
}
