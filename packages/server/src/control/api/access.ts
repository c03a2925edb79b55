import type { IncomingMessage } from "node:http"
import { type Clock, createLimiter, type Limiter, memoryStore, SluiceError } from "sluice"
import { ipKey } from "sluice/http"
import { checkLocal, checkOrigin, isLoopback } from "../../http/origin.js"
import { bearerToken, Tokens } from "../../http/tokens.js"
import { type Actor, mayAct, type Role, type RoleTokenSpec } from "./roles.js"

/** How many wrong tokens one address may send. A person who pastes the wrong token a few times is not locked out. */
const FAILURES = { limit: 10, window: "1m", algorithm: "sliding-window-log" } as const
/** How many addresses are counted. Further ones are not limited, because locking everybody out would help an attacker. */
const MAX_ADDRESSES = 100_000

/** Decides who a client is, and whether its role allows a request. */
export class Access {
  readonly #tokens: Tokens<RoleTokenSpec>
  readonly #failures: Limiter

  constructor(tokens: readonly RoleTokenSpec[], clock?: Clock) {
    this.#tokens = new Tokens(tokens, "control.tokens")
    const time = clock === undefined ? {} : { clock }
    const store = memoryStore({ ...time, maxKeys: MAX_ADDRESSES, onFull: "allow" })
    this.#failures = createLimiter({ ...FAILURES, ...time, store })
  }

  /** Admits a request that needs no token, unless a page of another site sends it. */
  admitAnyone(request: IncomingMessage): void {
    checkOrigin(request)
  }

  /** Returns who sends the request. Throws if the token is unknown or its role does not allow the request. */
  admit(request: IncomingMessage, needed: Role): Actor {
    checkOrigin(request)
    const address = request.socket.remoteAddress ?? ""
    const { name, role } = this.#identify(request, address)
    if (mayAct(role, needed)) return { name, role, address }
    throw new SluiceError("ROLE_REQUIRED", { place: "role", expected: `must be ${needed}`, found: role })
  }

  #identify(request: IncomingMessage, address: string): { readonly name: string; readonly role: Role } {
    if (this.#tokens.isEmpty) {
      checkLocal(request)
      return { name: "loopback", role: "admin" }
    }
    const { authorization } = request.headers
    if (authorization === undefined) throw unauthorized("is required: Bearer and a token")
    // Above the limit, right tokens are refused too. Otherwise an attacker could go on guessing.
    const key = ipKey(address) ?? "unknown"
    this.#refuseIfLimited(key)
    const token = bearerToken(authorization)
    const known = token === undefined ? undefined : this.#tokens.find(token)
    if (known !== undefined) return known
    this.#failures.checkSync(key)
    throw unauthorized(token === undefined ? "must be Bearer and a token" : "must hold a token that is known")
  }

  #refuseIfLimited(key: string): void {
    if (this.#failures.checkSync(key, { cost: 0 }).remaining > 0) return
    // This check is denied, so it charges nothing, and it says when the next attempt is allowed.
    throw new TooManyFailures(this.#failures.checkSync(key).retryAfterMs)
  }
}

/** An address has sent too many wrong tokens. */
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
  // The token is not shown, because it may be a right one with a typing error.
  return new SluiceError("TOKEN_REQUIRED", { place: "authorization", expected })
}

/** Throws unless tokens are configured or the address is a loopback address: otherwise anybody could edit the rules. */
export function assertSafeToListen(host: string, tokens: readonly RoleTokenSpec[]): void {
  if (tokens.length > 0 || isLoopback(host)) return
  throw new SluiceError("LISTEN_UNSAFE", {
    place: "control.host",
    expected: "must be a loopback address as long as there are no control.tokens",
    found: host,
  })
}
