import type { TimeoutEntry, Timeouts } from "../../timeouts.js"
import type { Breaker } from "../fallback/breaker.js"
import { StoreFailure } from "../fallback/store-failure.js"
import type { Outcome } from "../store.js"
import type { RedisConnection } from "./client.js"
import type { Expiry, Message, Request } from "./codec.js"
import { DECIDE, decode, encode } from "./codec.js"
import { failureOf, isNoScript } from "./failure.js"
import { SCRIPT, SCRIPT_DIGEST } from "./scripts.js"

/** A request with the two functions that answer its caller. */
export interface Pending extends Request {
  readonly resolve: (outcome: Outcome) => void
  readonly reject: (failure: StoreFailure) => void
}

/** What a call needs of its batcher. */
export interface CallContext {
  readonly connection: RedisConnection
  readonly deadlines: Timeouts
  readonly deadlineMs: number
  readonly expiry: Expiry
  /** Called with every reply. Calls `settle` when it is this call's turn. */
  answered(call: Call): void
  /** Called when the server does not have the script. Calls `sendSource` when it is this call's turn. */
  sendSourceOf(call: Call): void
}

/**
 * One run of the script for requests that travel together, under one deadline and one breaker. Uses callbacks instead of
 * async functions, because every promise between the limiter and the client delays a check that is alone.
 */
export class Call implements TimeoutEntry {
  dueAt = 0
  previous: TimeoutEntry | undefined = undefined
  next: TimeoutEntry | undefined = undefined
  /** Calls of one batcher are numbered in the order they are sent. */
  readonly number: number
  readonly #context: CallContext
  readonly #breaker: Breaker
  readonly #requests: readonly Pending[]
  readonly #message: Message
  #reply: Buffer | undefined
  #isRepeated = false
  /** Whether the call was answered, refused or expired. */
  #isOver = false

  /** Throws when a request cannot be encoded. */
  constructor(context: CallContext, breaker: Breaker, requests: readonly Pending[], number: number) {
    this.number = number
    this.#context = context
    this.#breaker = breaker
    this.#requests = requests
    this.#message = encode(requests, context.expiry)
  }

  /** Sends the call, unless the breaker is open, and starts its deadline. Never throws. */
  start(): void {
    if (!this.#breaker.tryEnter()) {
      this.#reject(new StoreFailure("breaker-open", "the breaker is open"))
      return
    }
    try {
      const connecting = this.#context.connection.ready()
      if (connecting === undefined) this.#send()
      else connecting.then(() => this.#send()).catch(this.#refused)
    } catch (error) {
      this.#refused(error)
    }
    // The deadline starts after the call is sent, so that the server works meanwhile. The call may have failed already.
    if (!this.#isOver) this.#context.deadlines.add(this)
  }

  expire(): void {
    this.#isOver = true
    const message = `no answer within ${this.#context.deadlineMs} ms`
    this.#fail(new StoreFailure("timeout", message, { ambiguous: true }))
  }

  /** Sends the script itself, to a server that does not have it. NOSCRIPT is the only error after which a call is repeated. */
  sendSource(): void {
    if (this.#isOver) return
    try {
      this.#run("EVAL", SCRIPT)
    } catch (error) {
      this.#refused(error)
    }
  }

  /** Gives every caller its outcome. */
  settle(): void {
    const requests = this.#requests
    try {
      const outcomes = decode(requests, this.#reply as Buffer)
      for (let i = 0; i < requests.length; i++) {
        const request = requests[i] as Pending
        const outcome = outcomes[i]
        if (outcome === undefined) request.reject(unreadable(request))
        else request.resolve(outcome)
      }
    } catch (error) {
      this.#reject(failureOf(error))
    }
  }

  /** Sends nothing after the deadline: Redis would charge what nobody waits for. */
  #send(): void {
    if (!this.#isOver) this.#run("EVALSHA", SCRIPT_DIGEST)
  }

  #run(command: "EVALSHA" | "EVAL", script: string): void {
    const { keys, numbers } = this.#message
    this.#context.connection
      .send(keys[0], [command, script, String(keys.length), ...keys, numbers])
      .then(this.#answered, this.#refused)
  }

  readonly #answered = (reply: unknown): void => {
    if (this.#isOver) return
    this.#end()
    this.#breaker.succeeded()
    this.#reply = reply as Buffer
    this.#context.answered(this)
  }

  readonly #refused = (error: unknown): void => {
    if (this.#isOver) return
    if (isNoScript(error) && !this.#isRepeated) {
      this.#isRepeated = true
      this.#context.sendSourceOf(this)
      return
    }
    this.#end()
    this.#fail(failureOf(error))
  }

  #end(): void {
    this.#isOver = true
    this.#context.deadlines.remove(this)
  }

  #fail(failure: StoreFailure): void {
    this.#breaker.failed(failure.kind)
    this.#reject(failure)
  }

  #reject(failure: StoreFailure): void {
    // `decide` charges nothing, so no failure of it is ambiguous.
    const unambiguous = new StoreFailure(failure.kind, failure.message, { cause: failure.cause })
    for (const { operation, reject } of this.#requests) reject(operation === DECIDE ? unambiguous : failure)
  }
}

function unreadable({ keys }: Request): StoreFailure {
  const message = `a key of this check holds a value that is not a state of its limit: ${keys.join(", ")}`
  return new StoreFailure("wrong-type", message)
}
