import type { ServerHttp2Session } from "node:http2"
import type { GrpcError } from "./grpc-status.js"

/**
 * One connection, looked at now and then: is anybody there? After a mistake in HTTP/2, Node says goodbye and then leaves the
 * socket open for as long as the client likes; and a client that has vanished says nothing at all. Neither answers a ping.
 */
export class Connection {
  /** Long calls, which would never end by themselves. */
  readonly calls = new Set<{ end(error: GrpcError): void }>()
  /** Whether a call has come since the last look. */
  isActive = false
  readonly #session: ServerHttp2Session
  readonly #everyMs: number
  readonly #keepAliveMs: number
  #isKnown = false
  #isWaiting = false
  #nextLook: number
  #idleSince: number

  /** Who does not answer for `everyMs` is cut, and who asks nothing for `keepAliveMs` is told to go. */
  constructor(session: ServerHttp2Session, everyMs: number, keepAliveMs: number) {
    this.#session = session
    this.#everyMs = everyMs
    this.#keepAliveMs = keepAliveMs
    this.#idleSince = performance.now()
    this.#nextLook = this.#idleSince + everyMs
    session.once("remoteSettings", () => {
      this.#isKnown = true
    })
  }

  look(now: number): void {
    if (now < this.#nextLook) return
    this.#nextLook = now + this.#everyMs
    const session = this.#session
    if (this.isActive) {
      this.isActive = false
      this.#idleSince = now
    } else if (!this.#isKnown || this.#isWaiting) session.destroy()
    else if (this.calls.size === 0 && now - this.#idleSince >= this.#keepAliveMs) session.close()
    else if (!session.closed && !session.destroyed) this.#ping()
  }

  #ping(): void {
    this.#isWaiting = true
    try {
      this.#session.ping(() => {
        this.#isWaiting = false
      })
    } catch {
      this.#session.destroy()
    }
  }
}
