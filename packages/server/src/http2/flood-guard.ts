// Bounds the useless work that a connection can cause: frames that ask for nothing, and requests that the client resets at
// once. Each is cheap, but a client that sends nothing else is an attacker.

import { ConnectionError } from "./frame.js"

/** The bounds of nghttp2: a thousand resets at once and 33 a second. Here each answered request allows one more. */
const MAX_RESETS = 1_000
const RESETS_PER_SECOND = 33
/** Idle frames are PING, SETTINGS, WINDOW_UPDATE, PRIORITY and empty DATA. Every request brings a few. */
const MAX_IDLE = 10_000
const IDLE_PER_SECOND = 1_000
const IDLE_PER_CALL = 16

export class FloodGuard {
  #resets = MAX_RESETS
  #idle = MAX_IDLE

  /** Counts a request that the client reset, or that was reset because of its mistake. */
  reset(): void {
    if (--this.#resets < 0) throw new ConnectionError("ENHANCE_YOUR_CALM", "too many streams were reset")
  }

  /** Counts an answered request. A proxy with much traffic also resets much, because its clients give up. */
  answered(): void {
    if (this.#resets < MAX_RESETS) this.#resets++
  }

  /** Counts a frame that asks for nothing. */
  idle(): void {
    if (--this.#idle < 0)
      throw new ConnectionError("ENHANCE_YOUR_CALM", "too many frames that ask for nothing")
  }

  /** Counts a complete request, which allows some more idle frames. */
  call(): void {
    if (this.#idle < MAX_IDLE) this.#idle += IDLE_PER_CALL
  }

  /** Restores the allowances for the time that has passed. */
  rest(ms: number): void {
    this.#resets = Math.min(MAX_RESETS, this.#resets + (ms / 1000) * RESETS_PER_SECOND)
    this.#idle = Math.min(MAX_IDLE, this.#idle + (ms / 1000) * IDLE_PER_SECOND)
  }
}
