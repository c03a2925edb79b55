/** The part of a target's connections that uploads may hold before they have sent anything. */
const SHARE = 1 / 8

/**
 * Counts the uploads in chunks that hold a connection and have sent nothing yet. Some clients want to hear from the upstream
 * before they send, so a few may; others could take every connection that way.
 */
export class SilentUploads {
  readonly #most: number
  #held = 0

  constructor(connections: number) {
    this.#most = Math.max(1, Math.floor(connections * SHARE))
  }

  /** False when there are as many as there may be. Each true is followed by one call of `leave`. */
  enter(): boolean {
    if (this.#held >= this.#most) return false
    this.#held++
    return true
  }

  leave(): void {
    this.#held--
  }
}
