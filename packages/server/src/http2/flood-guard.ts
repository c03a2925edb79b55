// Bounds what a connection may make the server do for nothing. Frames that ask for nothing are cheap each, and so is a call
// that is taken back at once; a client that sends nothing else is no client.

import { ConnectionError } from "./error-code.js"

/** As nghttp2 has it: a client may take back a thousand calls at once, and 33 a second. Here also one for each it lets be answered. */
const MOST_RESETS = 1_000
const RESETS_PER_SECOND = 33
/** Pings, settings, windows, priorities, DATA without a byte: some of them come with every call. */
const MOST_IDLE = 10_000
const IDLE_PER_SECOND = 1_000
const IDLE_PER_CALL = 16

export class FloodGuard {
  #resets = MOST_RESETS
  #idle = MOST_IDLE

  /** A call that was taken back, or had to be ended for what the client did on it. */
  reset(): void {
    if (--this.#resets < 0) throw new ConnectionError("ENHANCE_YOUR_CALM", "too many streams are reset")
  }

  /** A call that was answered to its end. Who asks for much may also take back much: many clients of a proxy give up. */
  answered(): void {
    if (this.#resets < MOST_RESETS) this.#resets++
  }

  /** A frame that asks for nothing. */
  idle(): void {
    if (--this.#idle < 0) throw new ConnectionError("ENHANCE_YOUR_CALM", "too many frames ask for nothing")
  }

  /** A call that has said all. */
  call(): void {
    if (this.#idle < MOST_IDLE) this.#idle += IDLE_PER_CALL
  }

  /** Time that has passed. */
  rest(ms: number): void {
    this.#resets = Math.min(MOST_RESETS, this.#resets + (ms / 1000) * RESETS_PER_SECOND)
    this.#idle = Math.min(MOST_IDLE, this.#idle + (ms / 1000) * IDLE_PER_SECOND)
  }
}
