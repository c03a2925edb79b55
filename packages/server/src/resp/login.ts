// Checks passwords. It compares hashes in constant time, and a limiter slows down an address that guesses.

import { createHmac, randomBytes, timingSafeEqual } from "node:crypto"
import { type Clock, createLimiter, type Limiter } from "sluice"
import { ipKey } from "sluice/http"

/** Wrong passwords per address. */
const FAILURES = { limit: 10, window: "1m", algorithm: "gcra" } as const

/** The result of an attempt. `waitMs` is set when the address must wait before its next one. */
export type LoginResult = { readonly ok: boolean; readonly waitMs?: number }

export class Login {
  readonly #key = randomBytes(32)
  readonly #expected: Buffer | undefined
  readonly #failures: Limiter

  constructor(password: string | undefined, clock?: Clock) {
    this.#expected = password === undefined ? undefined : this.#digest(password)
    this.#failures = createLimiter(clock === undefined ? FAILURES : { ...FAILURES, clock })
  }

  get isRequired(): boolean {
    return this.#expected !== undefined
  }

  /** Checks an attempt. The only user is `default`. */
  try(address: string, user: string, password: string): LoginResult {
    if (this.#expected === undefined) return { ok: user === "default" }
    const who = ipKey(address) ?? address
    // Before the comparison: otherwise a guesser over the limit would still learn which password is right.
    if (this.#failures.checkSync(who, { cost: 0 }).remaining < 1) {
      // A denied check charges nothing; it only returns the wait.
      return { ok: false, waitMs: this.#failures.checkSync(who).retryAfterMs }
    }
    const isPassword = timingSafeEqual(this.#digest(password), this.#expected)
    if (isPassword && user === "default") return { ok: true }
    this.#failures.checkSync(who)
    return { ok: false }
  }

  async close(): Promise<void> {
    await this.#failures.close()
  }

  /** Has the same length for every password and is useless to an attacker: the key is random per process. */
  #digest(password: string): Buffer {
    return createHmac("sha256", this.#key).update(password).digest()
  }
}
