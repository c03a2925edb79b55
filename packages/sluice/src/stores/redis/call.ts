// Checks that travel together: one run of the script, under one deadline and one breaker.
//
// Callbacks and no async functions: with one check at a time every promise between the limiter and the client is a
// measurable part of the wait.

import type { TimeoutEntry, Timeouts } from "../../timeouts.js"
import type { Breaker } from "../fallback/breaker.js"
import { StoreFailure } from "../fallback/store-failure.js"
import type { Outcome } from "../store.js"
import type { RedisConnection } from "./client.js"
import type { Message, Request } from "./codec.js"
import { DECIDE, decode, encode } from "./codec.js"
import { failureOf, isNoScript } from "./failure.js"
import { SCRIPT, SCRIPT_DIGEST } from "./scripts.js"
import type { UniformCodec } from "./uniform.js"
import { decodeUniform } from "./uniform.js"

/** A request with those who wait for it. */
export interface Pending extends Request {
  readonly resolve: (outcome: Outcome) => void
  readonly reject: (failure: StoreFailure) => void
}

/** What a call needs of its lane. */
export interface CallLane {
  readonly connection: RedisConnection
  readonly deadlines: Timeouts
  readonly uniform: UniformCodec
  readonly deadlineMs: number
  readonly expiryBufferMs: number
  readonly leastExpiryMs: number
  /** Told of every answer. Calls `settle` when it is this call's turn. */
  answered(call: Call): void
  /** Told of a server without the script. Calls `sendSource` when it is this call's turn. */
  sendSourceOf(call: Call): void
  failed(breaker: Breaker, failure: StoreFailure): void
}

export class Call implements TimeoutEntry {
  dueAt = 0
  previous: TimeoutEntry | undefined = undefined
  next: TimeoutEntry | undefined = undefined
  /** Answered, refused or expired. */
  #isOver = false
  /** Calls of one lane are counted in the order they are sent. */
  readonly number: number
  readonly #lane: CallLane
  readonly #breaker: Breaker
  readonly #together: readonly Pending[]
  readonly #message: Message
  readonly #isUniform: boolean
  #reply: Buffer | undefined
  #isRepeated = false

  constructor(lane: CallLane, breaker: Breaker, together: readonly Pending[], number: number) {
    this.number = number
    this.#lane = lane
    this.#breaker = breaker
    this.#together = together
    const uniform = lane.uniform.encode(together)
    this.#isUniform = uniform !== undefined
    this.#message = uniform ?? encode(together, lane.expiryBufferMs, lane.leastExpiryMs)
  }

  depart(): void {
    if (!this.#breaker.tryEnter()) {
      this.#reject(new StoreFailure("breaker-open", "the breaker is open"))
      return
    }
    try {
      const connecting = this.#lane.connection.ready()
      if (connecting === undefined) this.#send()
      else connecting.then(() => this.#send()).catch(this.#refused)
    } catch (error) {
      this.#refused(error)
    }
    // After it is sent: the server is at work meanwhile. It may have been refused already.
    if (!this.#isOver) this.#lane.deadlines.add(this)
  }

  expire(): void {
    this.#isOver = true
    const message = `no answer within ${this.#lane.deadlineMs} ms`
    this.#fail(new StoreFailure("timeout", message, { ambiguous: true }))
  }

  /** To a server that does not have the script. NOSCRIPT is the one error safe to repeat after. */
  sendSource(): void {
    if (this.#isOver) return
    const { args, keys } = this.#message
    const command = ["EVAL", SCRIPT, String(keys.length), ...keys, ...args]
    try {
      this.#lane.connection.send(keys[0], command).then(this.#answered, this.#refused)
    } catch (error) {
      this.#refused(error)
    }
  }

  /** Gives everyone the answer. */
  settle(): void {
    const together = this.#together
    try {
      const reply = this.#reply as Buffer
      const outcomes = this.#isUniform ? decodeUniform(together, reply) : decode(together, reply)
      for (let i = 0; i < together.length; i++) {
        const outcome = outcomes[i] as Outcome | StoreFailure
        if (outcome instanceof StoreFailure) (together[i] as Pending).reject(outcome)
        else (together[i] as Pending).resolve(outcome)
      }
    } catch (error) {
      this.#reject(failureOf(error))
    }
  }

  /** Not when nobody waits any more: it would be counted all the same. */
  #send(): void {
    if (this.#isOver) return
    this.#lane.connection.runScript(SCRIPT_DIGEST, this.#message, this.#answered, this.#refused)
  }

  readonly #answered = (reply: unknown): void => {
    if (this.#isOver) return
    this.#end()
    this.#breaker.succeeded()
    this.#reply = reply as Buffer
    this.#lane.answered(this)
  }

  readonly #refused = (error: unknown): void => {
    if (this.#isOver) return
    if (isNoScript(error) && !this.#isRepeated) {
      this.#isRepeated = true
      this.#lane.sendSourceOf(this)
      return
    }
    this.#end()
    this.#fail(failureOf(error))
  }

  #end(): void {
    this.#isOver = true
    this.#lane.deadlines.remove(this)
  }

  #fail(failure: StoreFailure): void {
    this.#lane.failed(this.#breaker, failure)
    this.#reject(failure)
  }

  #reject(failure: StoreFailure): void {
    // A dry run charges nothing, whatever became of it.
    const harmless = new StoreFailure(failure.kind, failure.message, { cause: failure.cause })
    for (const { operation, reject } of this.#together) reject(operation === DECIDE ? harmless : failure)
  }
}
