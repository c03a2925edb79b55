import { blockPolicy } from "../../algorithms/block.js"
import { Timeouts } from "../../timeouts.js"
import { Breaker } from "../fallback/breaker.js"
import { withDeadline } from "../fallback/deadline.js"
import { StoreFailure } from "../fallback/store-failure.js"
import type { Charge, Outcome } from "../store.js"
import { Namespace } from "../store.js"
import type { CallContext, Pending } from "./call.js"
import { Call } from "./call.js"
import type { RedisConnection } from "./client.js"
import type { Expiry, Operation } from "./codec.js"
import { CHARGE, encode } from "./codec.js"
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
}

const PROBE = new Namespace("probe")

/**
 * Sends checks to one server or one Cluster. Checks of the same tick share a call, every call has a deadline, and a breaker
 * keeps calls away from a server that does not answer.
 *
 * A Cluster has a breaker for every sixteenth of its slots. A node owns long ranges of slots, so this is nearly a breaker for
 * each node, without knowing the nodes: a dead primary degrades the checks on its own keys only.
 */
export class Batcher implements CallContext {
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

  constructor(connection: RedisConnection, { deadlineMs, expiry }: BatcherOptions) {
    this.connection = connection
    this.deadlineMs = deadlineMs
    this.expiry = expiry
    this.deadlines = new Timeouts(deadlineMs, { keepsProcessAlive: true, readsSocketsFirst: true })
    const probeKeys = connection.isCluster ? clusterProbeKeys() : ["s1:probe"]
    this.breakers = probeKeys.map((key) => new Breaker({ probe: () => this.#probe(key), deadlineMs }))
  }

  /** Adds a request to the call that is sent at the end of this tick, or at once when that call is full. */
  submit(
    operation: Operation,
    charges: readonly Charge[],
    keys: readonly string[],
    at: number | undefined,
  ): Promise<Outcome> {
    return new Promise((resolve, reject) => {
      const waiting = this.#waiting.push({ operation, charges, keys, at, resolve, reject })
      if (waiting === 1) process.nextTick(this.#flush)
      else if (waiting === MAX_CHECKS && this.connection.keepsOrder) this.#flush()
    })
  }

  /** Runs a single command under the same deadline and breaker. */
  async command(key: string | undefined, args: (string | Buffer)[]): Promise<unknown> {
    const breaker = this.#breakerOf(key)
    if (!breaker.tryEnter()) throw new StoreFailure("breaker-open", "the breaker is open")
    try {
      const reply = await withDeadline(() => this.#sendCommand(key, args), this.deadlineMs)
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
  sendSourceOf(call: Call): void {
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
    for (const call of calls) call.sendSource()
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

  async #sendCommand(key: string | undefined, args: (string | Buffer)[]): Promise<unknown> {
    const connecting = this.connection.ready()
    if (connecting !== undefined) {
      const askedAt = performance.now()
      await connecting
      // The caller has been answered without Redis, and Redis would charge what nobody waits for.
      if (performance.now() - askedAt > this.deadlineMs)
        throw new StoreFailure("connection", "connected after the deadline")
    }
    return await this.connection.send(key, args)
  }

  /** The smallest call that runs the script and writes, so that it fails for the reasons a check would fail for. */
  async #probe(key: string): Promise<void> {
    const charges = [{ namespace: PROBE, key, policy: blockPolicy, cost: 1 }]
    const { numbers } = encode([{ operation: CHARGE, charges, keys: [key], at: undefined }], this.expiry)
    try {
      await this.#sendCommand(key, ["EVALSHA", SCRIPT_DIGEST, "1", key, numbers])
    } catch (error) {
      if (!isNoScript(error)) throw error
      await this.#sendCommand(key, ["EVAL", SCRIPT, "1", key, numbers])
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
