import type { Decision } from "../../decision.js"
import type { HeaderSource } from "../../request/header-source.js"
import type { RuleDecision } from "../../rules/engine/rule-decision.js"

/** What was decided about a request: by a rule engine, it also says which rule and why. */
export type RequestDecision = Decision | RuleDecision

/** How a request ended: with the status it was answered, or without an answer. */
export type Ending = number | "aborted" | "error"

/** A whole answer to a denied request. */
export interface DeniedAnswer {
  readonly status: number
  readonly body: string
  /** How many bytes the body has, where that is known already. */
  readonly bytes?: number | undefined
  readonly contentType: string
}

/** What a passage needs of its gate. */
export interface Gatekeeper<Request> {
  answerOf(passage: Passage<Request>): DeniedAnswer
  /** Whether a request that ended like this is not to count. */
  forgives(request: Request, ending: Ending): boolean
  /** Whether anything is ever forgiven. */
  readonly mayForgive: boolean
  /** Whether a rule wants to see the answer. */
  awaitsAnswer(decision: RequestDecision): boolean
  refund(passage: Passage<Request>): void
  /** Lets the rules make of the answer what they say of it. */
  settle(passage: Passage<Request>, status: number, headers: HeaderSource | undefined): void
  /** Waits for the turn of a request that is held. */
  wait(passage: Passage<Request>, signal: AbortSignal | undefined): Promise<boolean>
}

/** One request on its way through a gate. */
export class Passage<Request = unknown> {
  readonly request: Request
  readonly decision: RequestDecision
  /** Headers for the answer, whatever it is: name, value, name, value. Those of earlier gates are in them. */
  readonly headers: readonly string[]
  /** Undefined where a rule engine decided. */
  readonly key: string | undefined
  readonly cost: number
  readonly #gate: Gatekeeper<Request>
  #isRefunded = false
  #isSettled = false

  constructor(
    gate: Gatekeeper<Request>,
    request: Request,
    decision: RequestDecision,
    headers: readonly string[],
    key: string | undefined,
    cost: number,
  ) {
    this.#gate = gate
    this.request = request
    this.decision = decision
    this.headers = headers
    this.key = key
    this.cost = cost
  }

  get allowed(): boolean {
    return this.decision.allowed
  }

  /** What to answer if the request was denied. Put together when asked for: an application may have an answer of its own. */
  get denied(): DeniedAnswer | undefined {
    return this.decision.allowed ? undefined : this.#gate.answerOf(this)
  }

  /** How long to hold the request before it goes on. When it is not 0, `hold` must be called. */
  get delayMs(): number {
    return this.decision.delayMs
  }

  /** Whether `settle` wants to know how the request ends. When not, nobody has to listen for it. */
  get mustSettle(): boolean {
    return (this.#gate.mayForgive || this.#gate.awaitsAnswer(this.decision)) && this.#isCharged
  }

  /**
   * Waits for the turn of a request that a queueing leaky bucket has let in. False when the client went away first; its
   * place in the queue is then free again, and nothing is to be answered.
   */
  async hold(signal?: AbortSignal): Promise<boolean> {
    const isDue = await this.#gate.wait(this, signal)
    if (!isDue) this.#giveBack()
    return isDue
  }

  /** How the request ended, and the headers of its answer if they can be seen. Only the first call counts. */
  settle(ending: Ending, headers?: HeaderSource): void {
    if (this.#isSettled || !this.mustSettle) return
    this.#isSettled = true
    if (this.#gate.forgives(this.request, ending)) this.#giveBack()
    else if (typeof ending === "number") this.#gate.settle(this, ending, headers)
  }

  /** Nothing was charged where nothing could be counted. */
  get #isCharged(): boolean {
    const { allowed, degraded } = this.decision
    return allowed && this.cost > 0 && degraded !== "allow"
  }

  #giveBack(): void {
    if (this.#isRefunded || !this.#isCharged) return
    this.#isRefunded = true
    this.#gate.refund(this)
  }
}
