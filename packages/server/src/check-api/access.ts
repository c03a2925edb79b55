// Who may use the check API. Any program that reaches it may check; refund and reset need more.

import { SluiceError } from "sluice"
import { checkLocal, checkPage, type SentRequest } from "../http/origin.js"
import { bearerToken, type TokenSpec, Tokens } from "../http/tokens.js"

export interface AccessOptions {
  /** Tokens of programs. If there are any, refund and reset need one. */
  readonly tokens?: readonly TokenSpec[]
  /** Whether checks need a token too. */
  readonly requireToken?: boolean
  /** Host names under which the service's own pages are served. */
  readonly allowedHosts?: readonly string[]
}

export class Access {
  readonly #tokens: Tokens<TokenSpec>
  readonly #allowedHosts: readonly string[]
  /** Whether every request needs a token. */
  readonly requiresToken: boolean

  constructor({ tokens = [], requireToken = false, allowedHosts = [] }: AccessOptions) {
    this.#tokens = new Tokens(tokens, "http.tokens")
    this.#allowedHosts = allowedHosts.map((name) => name.toLowerCase())
    this.requiresToken = requireToken
  }

  /** Throws unless the sender of this request may check. */
  admit(request: SentRequest): void {
    checkPage(request, this.#allowedHosts)
    if (this.requiresToken) this.#checkToken(request)
  }

  /** Throws unless the sender may refund and reset: with a token, or from this machine if there are no tokens. */
  admitChange(request: SentRequest): void {
    checkPage(request, this.#allowedHosts)
    if (this.#tokens.isEmpty) checkLocal(request, "http.tokens")
    else this.#checkToken(request)
  }

  #checkToken({ headers: { authorization } }: SentRequest): void {
    const token = authorization === undefined ? undefined : bearerToken(authorization)
    if (token !== undefined && this.#tokens.find(token) !== undefined) return
    // The error never shows the value: it may be a token with a typo.
    throw new SluiceError("TOKEN_REQUIRED", {
      place: "authorization",
      expected:
        authorization === undefined ? "is required: Bearer and a token" : "must hold a token that is known",
    })
  }
}
