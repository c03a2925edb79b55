// Who may ask. The password is compared by its hash and in constant time, and an address that keeps guessing is made to
// wait by Sluice itself.

import { createHmac, randomBytes, timingSafeEqual } from "node:crypto"
import { type Clock, createLimiter, type Limiter } from "sluice"
import { ipKey } from "sluice/http"

/** Wrong passwords of one address. */
const FAILURES = { limit: 10, window: "1m", algorithm: "gcra" } as const

/** What came of a try; `waitMs` until the next one is looked at. */
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

  /** There is one user. */
  try(address: string, user: string, password: string): LoginResult {
    if (this.#expected === undefined) return { ok: user === "default" }
    const who = ipKey(address) ?? address
    // Looked at first: else the right password would be told from wrong ones however many were tried.
    if (this.#failures.checkSync(who, { cost: 0 }).remaining < 1) {
      // Denied, and so not counted: it only tells the wait.
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

  /** Of one length, whatever the password is, and worthless to who finds it. */
  #digest(password: string): Buffer {
    return createHmac("sha256", this.#key).update(password).digest()
  }
}
