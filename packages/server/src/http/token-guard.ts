import type { IncomingMessage } from "node:http"
import { type Clock, createLimiter, type Limiter, memoryStore, SluiceError } from "sluice"
import { ipKey } from "sluice/http"
import { bearerToken, type TokenSpec, Tokens } from "./tokens.js"

/** Wrong tokens from one address. Somebody who pastes the wrong one a few times is not locked out. */
const FAILURES = { limit: 10, window: "1m", algorithm: "sliding-window-log" } as const
/** Addresses that fail at once. Beyond it new ones are not counted: to lock everybody out would serve the attacker better. */
const MAX_ADDRESSES = 100_000

/** Finds out whose token a request has, and limits how often an address may be wrong. */
export class TokenGuard<Spec extends TokenSpec> {
  readonly #tokens: Tokens<Spec>
  readonly #failures: Limiter

  /** `place` is where the tokens come from, for errors. */
  constructor(tokens: readonly Spec[], place: string, clock?: Clock) {
    this.#tokens = new Tokens(tokens, place)
    const time = clock === undefined ? {} : { clock }
    const store = memoryStore({ ...time, maxKeys: MAX_ADDRESSES, onFull: "allow" })
    this.#failures = createLimiter({ ...FAILURES, ...time, store })
  }

  get isEmpty(): boolean {
    return this.#tokens.isEmpty
  }

  /** Whose token it is. Throws where there is none, or a wrong one, or too many were wrong from this address. */
  identify({ headers: { authorization }, socket }: IncomingMessage): Spec {
    if (authorization === undefined) throw unauthorized("is required: Bearer and a token")
    // A limit on wrong tokens means nothing unless right ones are refused too once it is reached.
    const key = ipKey(socket.remoteAddress ?? "") ?? "unknown"
    this.#refuseIfLimited(key)
    const token = bearerToken(authorization)
    const known = token === undefined ? undefined : this.#tokens.find(token)
    if (known !== undefined) return known
    this.#failures.checkSync(key)
    throw unauthorized(token === undefined ? "must be Bearer and a token" : "must hold a token that is known")
  }

  #refuseIfLimited(key: string): void {
    if (this.#failures.checkSync(key, { cost: 0 }).remaining > 0) return
    // Denied, so that it charges nothing; it tells when the next one is allowed.
    throw new TooManyFailures(this.#failures.checkSync(key).retryAfterMs)
  }
}

/** Too many wrong tokens from one address. */
export class TooManyFailures extends SluiceError {
  readonly retryAfterSeconds: number

  constructor(retryAfterMs: number) {
    const retryAfterSeconds = Math.max(1, Math.ceil(retryAfterMs / 1000))
    super("LOGIN_LIMITED", {
      place: "authorization",
      expected: `was wrong too often from this address; try again in ${retryAfterSeconds} s`,
    })
    this.retryAfterSeconds = retryAfterSeconds
  }
}

function unauthorized(expected: string): SluiceError {
  // What was sent is never shown: it may be a right token, misspelled.
  return new SluiceError("TOKEN_REQUIRED", { place: "authorization", expected })
}
