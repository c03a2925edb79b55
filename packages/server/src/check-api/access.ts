// Who may use the check API. Programs that reach it may ask; what gives back or forgets charges needs more.

import { SluiceError } from "sluice"
import { checkLocal, checkPage, type SentRequest } from "../http/origin.js"
import { bearerToken, type TokenSpec, Tokens } from "../http/tokens.js"

export interface AccessOptions {
  /** Tokens of programs. With any, refund and reset need one. */
  readonly tokens?: readonly TokenSpec[]
  /** Whether checks need a token too. */
  readonly requireToken?: boolean
  /** Names that pages of the service's own are served under. */
  readonly allowedHosts?: readonly string[]
}

export class Access {
  readonly #tokens: Tokens<TokenSpec>
  readonly #allowedHosts: readonly string[]
  /** Whether every question needs a token. */
  readonly requiresToken: boolean

  constructor({ tokens = [], requireToken = false, allowedHosts = [] }: AccessOptions) {
    this.#tokens = new Tokens(tokens, "http.tokens")
    this.#allowedHosts = allowedHosts.map((name) => name.toLowerCase())
    this.requiresToken = requireToken
  }

  /** Throws unless this request may ask for a decision. */
  admit(request: SentRequest): void {
    checkPage(request, this.#allowedHosts)
    if (this.requiresToken) this.#checkToken(request)
  }

  /** Throws unless this request may give back or forget charges: with a token, or from this machine where there are none. */
  admitChange(request: SentRequest): void {
    checkPage(request, this.#allowedHosts)
    if (this.#tokens.isEmpty) checkLocal(request, "http.tokens")
    else this.#checkToken(request)
  }

  #checkToken({ headers: { authorization } }: SentRequest): void {
    const token = authorization === undefined ? undefined : bearerToken(authorization)
    if (token !== undefined && this.#tokens.find(token) !== undefined) return
    // What was sent is never shown: it may be a right token, misspelled.
    throw new SluiceError("TOKEN_REQUIRED", {
      place: "authorization",
      expected:
        authorization === undefined ? "is required: Bearer and a token" : "must hold a token that is known",
    })
  }
}
