// Reads the beginning of a request's body before the gateway decides, for rules that charge by it. The upstream then receives the
// body unchanged.

import { Readable } from "node:stream"
import type { HeldBytes } from "../../held-bytes.js"
import type { BodyFraming, RequestBody } from "./client-request.js"

/** Bytes of one body that are held. Rules see nothing of a longer body but its length. */
const MAX_BYTES = 1024 * 1024
/** How long the gateway waits for a body. Then it decides by what has arrived. */
const MAX_WAIT_MS = 5_000

export class BodyStart {
  readonly #stream: RequestBody
  readonly #framing: BodyFraming
  readonly #all: HeldBytes
  readonly #pieces: Buffer[] = []
  #bytes = 0
  #whole: RequestBody | undefined

  /** `all` counts what the bodies of all requests occupy. */
  constructor(stream: RequestBody, framing: BodyFraming, all: HeldBytes) {
    this.#stream = stream
    this.#framing = framing
    this.#all = all
  }

  /** The body from its first byte, to be forwarded. */
  get body(): RequestBody {
    return this.#whole ?? this.#stream
  }

  /**
   * Resolves with the body, or with the part that has arrived in time. Resolves with undefined if the client disconnects first.
   * Call it once.
   */
  read(): Promise<Buffer | undefined> {
    const stream = this.#stream
    return new Promise((resolve) => {
      let hasEnded = false
      // All in one turn: a stream that flows would lose bytes, and none can be put back into one that has ended.
      const stop = (): void => {
        clearTimeout(timer)
        stream.off("data", onData).off("end", onEnd).off("close", stop)
        const body = Buffer.concat(this.#pieces)
        this.#pieces.length = 0
        if (hasEnded) this.#whole = new WholeBody(body, stream.rawTrailers)
        else {
          stream.pause()
          if (body.length > 0 && !stream.destroyed) stream.unshift(body)
        }
        resolve(hasEnded || !stream.destroyed ? body : undefined)
      }
      const onData = (bytes: Buffer): void => {
        this.#pieces.push(bytes)
        this.#bytes += bytes.length
        const isFull = !this.#all.add(bytes.length) || this.#bytes > MAX_BYTES
        if (isFull || this.#bytes === this.#framing) stop()
      }
      const onEnd = (): void => {
        hasEnded = true
        stop()
      }
      const timer = setTimeout(stop, MAX_WAIT_MS)
      stream.on("data", onData).on("end", onEnd).on("close", stop)
    })
  }

  /** The request is over. */
  release(): void {
    this.#all.add(-this.#bytes)
    this.#bytes = 0
  }
}

/** A body that has arrived to its end. */
class WholeBody extends Readable implements RequestBody {
  readonly rawTrailers: readonly string[]

  constructor(body: Buffer, trailers: readonly string[]) {
    super({ read() {} })
    this.rawTrailers = trailers
    if (body.length > 0) this.push(body)
    this.push(null)
  }
}
