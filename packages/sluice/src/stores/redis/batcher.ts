import { blockPolicy } from "../../algorithms/block.js"
import type { TimeoutEntry } from "../../timeouts.js"
import { Timeouts } from "../../timeouts.js"
import type { BreakerThresholds } from "../fallback/breaker.js"
import { Breaker } from "../fallback/breaker.js"
import { withDeadline } from "../fallback/deadline.js"
import { StoreFailure } from "../fallback/store-failure.js"
import type { Charge, Outcome } from "../store.js"
import { Namespace } from "../store.js"
import type { RedisConnection } from "./client.js"
import type { Expiry, Message, Operation, Request } from "./codec.js"
import { CHARGE, DECIDE, decode, encode } from "./codec.js"
import { failureOf, isNoScript, unsent } from "./failure.js"
import { keyslot } from "./keys.js"
import { SCRIPT, SCRIPT_DIGEST } from "./scripts.js"

/** Checks in one call. Larger calls make client and server wait for each other; 32 keep both busy. */
const MAX_CHECKS = 32
/** Keys in one call: far below what Lua's `unpack` takes. */
const MAX_KEYS = 1_000
const CLUSTER_BREAKERS = 16
const SLOTS_PER_BREAKER = 1_024

export interface BatcherOptions {
  readonly deadlineMs: number
  readonly expiry: Expiry
  readonly breaker?: BreakerThresholds
}

const PROBE = new Namespace("probe")

/** A request with the two functions that answer its caller. */
interface Pending extends Request {
  readonly resolve: (outcome: Outcome) => void
  readonly reject: (failure: StoreFailure) => void
}

/**
 * Sends checks to one server or one Cluster. Checks of the same tick share a call, every call has a deadline, and a breaker
 * keeps calls away from a server that does not answer.
 *
 * A Cluster has a breaker for every sixteenth of its slots. A node owns long ranges of slots, so this is nearly a breaker for
 * each node, without knowing the nodes: a dead primary degrades the checks on its own keys only.
 */
export class Batcher {
  readonly breakers: readonly Breaker[]
  readonly connection: RedisConnection
  readonly deadlines: Timeouts
  readonly deadlineMs: number
  readonly expiry: Expiry
  #waiting: Pending[] = []
  /** Answered calls that wait for their turn; undefined while no call has had a turn in this tick. */
  #answered: Call[] | undefined
  #callCount = 0
  /** Calls that met a server without the script. */
  #withoutScript: Call[] = []

  constructor(connection: RedisConnection, { deadlineMs, expiry, breaker }: BatcherOptions) {
    this.connection = connection
    this.deadlineMs = deadlineMs
    this.expiry = expiry
    this.deadlines = new Timeouts(deadlineMs, { keepsProcessAlive: true, awaitsAnswers: true })
    const probeKeys = connection.isCluster ? clusterProbeKeys() : ["s1:probe"]
    this.breakers = probeKeys.map(
      (key) => new Breaker({ ...breaker, probe: (hasExpired) => this.#probe(key, hasExpired), deadlineMs }),
    )
  }

  /** Adds a request to the call that is sent at the end of this tick, or at once when that call is full. */
  submit(
    operation: Operation,
    charges: readonly Charge[],
    keys: readonly string[],
    at: number | undefined,
    onState?: Request["onState"],
  ): Promise<Outcome> {
    return new Promise((resolve, reject) => {
      const waiting = this.#waiting.push({ operation, charges, keys, at, onState, resolve, reject })
      if (waiting === 1) process.nextTick(this.#flush)
      else if (waiting === MAX_CHECKS && this.connection.keepsOrder) this.#flush()
    })
  }

  /** Runs a single command under the same deadline and breaker. */
  async command(key: string | undefined, args: (string | Buffer)[]): Promise<unknown> {
    const breaker = this.#breakerOf(key)
    if (!breaker.tryEnter()) throw new StoreFailure("breaker-open", "the breaker is open")
    try {
      const reply = await withDeadline(
        (hasExpired) => this.#sendCommand(key, args, hasExpired),
        this.deadlineMs,
      )
      breaker.succeeded()
      return reply
    } catch (error) {
      const failure = failureOf(error)
      breaker.failed(failure.kind)
      throw failure
    }
  }

  /**
   * Settles one call a tick. When several replies arrive at once, the callers of the first send their next checks before the
   * second is decoded, so that the server has work meanwhile.
   */
  answered(call: Call): void {
    if (this.#answered !== undefined) {
      this.#answered.push(call)
      return
    }
    if (!this.deadlines.isEmpty) {
      this.#answered = []
      process.nextTick(this.#settleNext)
    }
    call.settle()
  }

  /** Repeats calls with the source of the script, in the order they were first sent: once all replies at hand are read. */
  repeatWithSource(call: Call): void {
    if (this.#withoutScript.push(call) === 1) setImmediate(this.#sendSources)
  }

  close(): void {
    for (const breaker of this.breakers) breaker.close()
    for (const pending of this.#waiting)
      pending.reject(new StoreFailure("connection", "the store was closed"))
    this.#waiting = []
  }

  readonly #sendSources = (): void => {
    const calls = this.#withoutScript.sort((a, b) => a.number - b.number)
    this.#withoutScript = []
    let isLoaded = false
    for (const call of calls) {
      const sent = call.repeat(isLoaded)
      // A server that gets the calls in order has the script by the time it runs the second of them.
      isLoaded ||= sent && this.connection.keepsOrder
    }
  }

  readonly #settleNext = (): void => {
    const call = this.#answered?.shift()
    if (call === undefined) {
      this.#answered = undefined
      return
    }
    process.nextTick(this.#settleNext)
    call.settle()
  }

  readonly #flush = (): void => {
    const waiting = this.#waiting
    this.#waiting = []
    if (!this.connection.isCluster) {
      this.#sendInCalls(waiting)
      return
    }
    // A script may touch one slot only.
    const bySlot = new Map<number, Pending[]>()
    for (const pending of waiting) {
      const slot = keyslot(pending.keys[0] ?? "")
      const together = bySlot.get(slot)
      if (together === undefined) bySlot.set(slot, [pending])
      else together.push(pending)
    }
    for (const together of bySlot.values()) this.#sendInCalls(together)
  }

  #sendInCalls(waiting: Pending[]): void {
    let start = 0
    while (start < waiting.length) {
      let keys = 0
      let end = start
      while (end < waiting.length && end - start < MAX_CHECKS) {
        keys += (waiting[end] as Pending).keys.length
        if (keys > MAX_KEYS && end > start) break
        end++
      }
      this.#sendCall(start === 0 && end === waiting.length ? waiting : waiting.slice(start, end))
      start = end
    }
  }

  /** Never throws: nobody could catch it. */
  #sendCall(requests: readonly Pending[]): void {
    let call: Call
    try {
      call = new Call(this, this.#breakerOf(requests[0]?.keys[0]), requests, ++this.#callCount)
    } catch (error) {
      // A request that cannot be encoded fails alone, and not the others of its call.
      if (requests.length > 1) for (const pending of requests) this.#sendCall([pending])
      else requests[0]?.reject(unsent(error))
      return
    }
    call.start()
  }

  #breakerOf(key: string | undefined): Breaker {
    const index =
      key === undefined || !this.connection.isCluster ? 0 : Math.floor(keyslot(key) / SLOTS_PER_BREAKER)
    return this.breakers[index] as Breaker
  }

  async #sendCommand(
    key: string | undefined,
    args: (string | Buffer)[],
    hasExpired: () => boolean,
  ): Promise<unknown> {
    const connecting = this.connection.ready()
    if (connecting !== undefined) {
      await connecting
      // The caller has been answered without Redis, and Redis would charge what nobody waits for.
      if (hasExpired()) throw new StoreFailure("connection", "connected after the deadline")
    }
    return await this.connection.send(key, args)
  }

  /** The smallest call that runs the script and writes, so that it fails for the reasons a check would fail for. */
  async #probe(key: string, hasExpired: () => boolean): Promise<void> {
    const charges = [{ namespace: PROBE, key, policy: blockPolicy, cost: 1 }]
    const { numbers } = encode([{ operation: CHARGE, charges, keys: [key], at: undefined }], this.expiry)
    try {
      await this.#sendCommand(key, ["EVALSHA", SCRIPT_DIGEST, "1", key, numbers], hasExpired)
    } catch (error) {
      if (!isNoScript(error)) throw error
      await this.#sendCommand(key, ["EVAL", SCRIPT, "1", key, numbers], hasExpired)
    }
  }
}

/** A key in every sixteenth of the slots. */
function clusterProbeKeys(): string[] {
  const keys: string[] = []
  for (let n = 0; Object.keys(keys).length < CLUSTER_BREAKERS; n++) {
    const key = `s1:probe:{${n}}`
    keys[Math.floor(keyslot(key) / SLOTS_PER_BREAKER)] ??= key
  }
  return keys
}

/**
 * One run of the script for requests that travel together, under one deadline and one breaker. Uses callbacks instead of
 * async functions, because every promise between the limiter and the client delays a check that is alone.
 */
class Call implements TimeoutEntry {
  dueAt = 0
  previous: TimeoutEntry | undefined = undefined
  next: TimeoutEntry | undefined = undefined
  /** Calls of one batcher are numbered in the order they are sent. */
  readonly number: number
  readonly #batcher: Batcher
  readonly #breaker: Breaker
  readonly #requests: readonly Pending[]
  readonly #message: Message
  #reply: Buffer | undefined
  /** Whether the call was sent again after NOSCRIPT, and whether with the source of the script. */
  #isRepeated = false
  #hasSource = false
  /** Whether the call was answered, refused or expired. */
  #isOver = false

  /** Throws when a request cannot be encoded. */
  constructor(batcher: Batcher, breaker: Breaker, requests: readonly Pending[], number: number) {
    this.number = number
    this.#batcher = batcher
    this.#breaker = breaker
    this.#requests = requests
    this.#message = encode(requests, batcher.expiry)
  }

  /** Sends the call, unless the breaker is open, and starts its deadline. Never throws. */
  start(): void {
    if (!this.#breaker.tryEnter()) {
      this.#reject(new StoreFailure("breaker-open", "the breaker is open"))
      return
    }
    try {
      const connecting = this.#batcher.connection.ready()
      if (connecting === undefined) this.#send()
      else connecting.then(this.#connected).catch(this.#refused)
    } catch (error) {
      this.#refused(error)
    }
    // The deadline starts after the call is sent, so that the server works meanwhile. The call may have failed already.
    if (!this.#isOver) this.#batcher.deadlines.add(this)
  }

  expire(): void {
    this.#isOver = true
    const message = `no answer within ${this.#batcher.deadlineMs} ms`
    this.#fail(new StoreFailure("timeout", message, { ambiguous: true }))
  }

  /**
   * Repeats the call on a server that did not have the script: with its source, unless a call before it loads the script. NOSCRIPT
   * is the only error after which a call is repeated. It is an answer, so the deadline starts anew: after a cold start the server
   * reads a whole burst twice. Returns false if nothing was sent.
   */
  repeat(isLoaded: boolean): boolean {
    if (this.#isOver) return false
    try {
      this.#hasSource = !isLoaded || this.#isRepeated
      this.#isRepeated = true
      if (this.#hasSource) this.#run("EVAL", SCRIPT)
      else this.#run("EVALSHA", SCRIPT_DIGEST)
      this.#restartDeadline()
      return true
    } catch (error) {
      this.#refused(error)
      return false
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

  /**
   * The first connection is there. The wait for it does not count against the answer. After the deadline nothing is sent: Redis
   * would charge what nobody waits for.
   */
  readonly #connected = (): void => {
    if (this.#isOver) return
    this.#send()
    this.#restartDeadline()
  }

  #restartDeadline(): void {
    this.#batcher.deadlines.remove(this)
    if (!this.#isOver) this.#batcher.deadlines.add(this)
  }

  #send(): void {
    this.#run("EVALSHA", SCRIPT_DIGEST)
  }

  #run(command: "EVALSHA" | "EVAL", script: string): void {
    const { keys, numbers } = this.#message
    this.#batcher.connection
      .send(keys[0], [command, script, String(keys.length), ...keys, numbers])
      .then(this.#answered, this.#refused)
  }

  readonly #answered = (reply: unknown): void => {
    if (this.#isOver) return
    this.#end()
    this.#breaker.succeeded()
    this.#reply = reply as Buffer
    this.#batcher.answered(this)
  }

  readonly #refused = (error: unknown): void => {
    if (this.#isOver) return
    if (isNoScript(error) && !this.#hasSource) {
      this.#batcher.repeatWithSource(this)
      return
    }
    this.#end()
    this.#fail(failureOf(error))
  }

  #end(): void {
    this.#isOver = true
    this.#batcher.deadlines.remove(this)
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
