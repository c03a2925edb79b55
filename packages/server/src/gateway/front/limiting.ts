// What the front handler asks of the rules before it forwards a request, and tells them once the request is over.

import type { CanonicalPath, DeniedAnswer, TrustedProxies } from "sluice/http"
import type { HeaderSource, RuleDecision, RuleRequest } from "sluice/rules"
import type { HeaderList } from "../../http/answer.js"

export interface Limiting {
  /** The one form of a request target that rules match and upstreams get. */
  target(url: string): CanonicalPath
  /** Whose forwarded headers are believed, by the rules that decide now. */
  readonly trusted: TrustedProxies
  /** Decides about a request and charges it. A promise only where the store needs one. Never throws nor rejects. */
  decide(request: RuleRequest): Admission | Promise<Admission>
  /** Requests that wait for their turn now. */
  readonly held: number
}

/** Headers of ours for an answer, whoever writes it. They take the place of those of the same name that the upstream sent. */
export interface OwnHeaders {
  /** Name, value, name, value, names in lower case. A list of the caller's own. */
  headers(): HeaderList
  /** The same as lines of HTTP/1.1, each with its end. */
  headerLines(): string
  /** The names of those that stand on what the upstream answers. */
  readonly headerNames: readonly string[]
}

/** One request on its way through the gateway. */
export interface Admission extends OwnHeaders {
  readonly decision: RuleDecision
  readonly allowed: boolean
  /** What to answer when the request is denied: at once, before its body is read. */
  readonly denied: DeniedAnswer | undefined
  /** How long to hold the request before it goes on. When it is not 0, `hold` must be called. */
  readonly delayMs: number
  /** False when the client went away before its turn; its place is then free again, and nothing is to be answered. */
  hold(signal: AbortSignal): Promise<boolean>
  /** Whether `settle` wants to know how the request ends. When not, nobody has to remember its headers. */
  readonly mustSettle: boolean
  /** How an admitted request ended. Only the first call counts. */
  settle(answer: SettledAnswer): void
}

/** The answer as the client got it. */
export interface SettledAnswer {
  /** Also of an answer that the gateway gave for the upstream: 502, 503, 504. */
  readonly status: number
  /** Of the upstream, by lower-case name. */
  readonly headers?: HeaderSource | undefined
  readonly trailers?: HeaderSource | undefined
}
