// What the front handler needs of the rules: a decision before it forwards a request, and a call when the request is over.

import type { CanonicalPath, TrustedProxies } from "sluice/http"
import type { Admission as AnyAdmission } from "sluice/internal"
import type { RuleDecision, RuleRequest } from "sluice/rules"

export interface Limiting {
  /** The canonical form of a request target, which rules match and upstreams receive. */
  target(url: string): CanonicalPath
  /** The proxies whose forwarded headers are trusted, by the rules in force. */
  readonly trusted: TrustedProxies
  /** Decides about a request and charges it. Returns a promise only if the store needs one. Never throws nor rejects. */
  decide(request: RuleRequest): Admission | Promise<Admission>
  /** How many requests the delay queue holds now. */
  readonly held: number
}

/** Rate limit headers for a response. They replace those of the same name that the upstream sent. */
export interface OwnHeaders {
  /** Name, value, name, value, names in lower case. Copy the list before you change it. */
  readonly headers: readonly string[]
}

/** One request on its way through the gateway: the admission of every middleware, decided by rules. */
export type Admission = Pick<
  AnyAdmission<RuleRequest, RuleDecision>,
  "decision" | "allowed" | "denied" | "delayMs" | "delay" | "mustSettle" | "settle" | "headers"
>
