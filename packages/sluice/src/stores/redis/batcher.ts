// The way to one server, or to one Cluster: checks of the same tick travel together, each call has a deadline, and a
// breaker keeps calls away from a server that does not answer.
//
// A Cluster has a breaker for every sixteenth of its slots. Nodes own long ranges of slots, so that this is nearly a breaker
// per node, without having to know the nodes: one dead primary degrades its own share of the keys only.

import { blockPolicy } from "../../algorithms/block.js"
import { Timeouts } from "../../timeouts.js"
import { Breaker } from "../fallback/breaker.js"
import { withDeadline } from "../fallback/deadline.js"
import { StoreFailure } from "../fallback/store-failure.js"
import type { Charge, Outcome } from "../store.js"
import { Namespace } from "../store.js"
import type { CallLane, Pending } from "./call.js"
import { Call } from "./call.js"
import type { RedisConnection } from "./client.js"
import type { Operation } from "./codec.js"
import { CHARGE, encode } from "./codec.js"
import { failureOf, isNoScript, unsent } from "./failure.js"
import { keyslot } from "./keyslot.js"
import { SCRIPT, SCRIPT_DIGEST } from "./scripts.js"
import { UniformCodec } from "./uniform.js"

/** Checks per call. More in one call makes client and server take turns; 32 keeps both at work. */
const MOST_CHECKS = 32
const SLOTS_PER_BREAKER = 1_024
const CLUSTER_BREAKERS = 16
/** Lua's `unpack` and ushort indices have their limits; far below both. */
const MOST_KEYS = 1_000

export interface LaneOptions {
  readonly deadlineMs: number
  readonly expiryBufferMs: number
  readonly leastExpiryMs: number
  /** Called when a server that had been sent calls has stopped answering: its socket is of no more use. */
  readonly onSilence?: () => void
}

const PROBE = new Namespace("probe")

const soon: (callback: () => void) => void =
  typeof process === "object" && typeof process.nextTick === "function" ? process.nextTick : queueMicrotask

export class Lane implements CallLane {
  readonly breakers: readonly Breaker[]
  readonly connection: RedisConnection
  readonly deadlines: Timeouts
  readonly uniform: UniformCodec
  readonly deadlineMs: number
  readonly expiryBufferMs: number
  readonly leastExpiryMs: number
  readonly #onSilence: (() => void) | undefined
  #waiting: Pending[] = []
  /** Whether the last call timed out, rather than failed. */
  #silent = false
  /** Answered calls whose turn has not come. Undefined when none had its turn in this tick. */
  #turns: Call[] | undefined
  #callsMade = 0
  /** Calls that met a server without the script. */
  #withoutScript: Call[] = []

  constructor(connection: RedisConnection, options: LaneOptions) {
    this.connection = connection
    this.deadlineMs = options.deadlineMs
    this.expiryBufferMs = options.expiryBufferMs
    this.leastExpiryMs = options.leastExpiryMs
    this.#onSilence = options.onSilence
    this.deadlines = new Timeouts(options.deadlineMs, { keepsProcessAlive: true, readsSocketsFirst: true })
    this.uniform = new UniformCodec(options.expiryBufferMs, options.leastExpiryMs)
    const probeKeys = connection.isCluster ? clusterProbeKeys() : ["s1:probe"]
    this.breakers = probeKeys.map((key) => {
      return new Breaker({
        probe: () => this.#probe(key),
        deadlineMs: options.deadlineMs,
        onChange: ({ to }) => {
          if (to === "open" && this.#silent) this.#onSilence?.()
        },
      })
    })
  }

  /**
   * Joins the call that leaves when the current run of callbacks is over, or at once when it is full: a lone check is not
   * delayed.
   */
  submit(
    operation: Operation,
    charges: readonly Charge[],
    keys: readonly string[],
    at: number | undefined,
  ): Promise<Outcome> {
    return new Promise((resolve, reject) => {
      const waiting = this.#waiting.push({ operation, charges, keys, at, resolve, reject })
      if (waiting === 1) soon(this.#depart)
      else if (waiting === MOST_CHECKS && this.connection.keepsOrder) this.#depart()
    })
  }

  /** A command of its own, under the same deadline and breaker. */
  async command(key: string | undefined, args: (string | Buffer)[]): Promise<unknown> {
    const breaker = this.#breakerOf(key)
    if (!breaker.tryEnter()) throw new StoreFailure("breaker-open", "the breaker is open")
    try {
      const reply = await withDeadline(() => this.#sendCommand(key, args), this.deadlineMs)
      breaker.succeeded()
      return reply
    } catch (error) {
      const failure = failureOf(error)
      this.failed(breaker, failure)
      throw failure
    }
  }

  /**
   * One turn a tick. When several answers come at once, those who got the first ask again before the second is even
   * looked at, and their next call is on its way meanwhile. Else client and server would take turns.
   */
  answered(call: Call): void {
    if (this.#turns !== undefined) {
      this.#turns.push(call)
      return
    }
    if (!this.deadlines.isEmpty) {
      this.#turns = []
      soon(this.#nextTurn)
    }
    call.settle()
  }

  /**
   * Sends calls with the source of the script, in the order they were first sent. Some answers come by a callback and some
   * by a promise, so this waits until all that has arrived was read.
   */
  sendSourceOf(call: Call): void {
    if (this.#withoutScript.push(call) === 1) setImmediate(this.#sendSources)
  }

  failed(breaker: Breaker, failure: StoreFailure): void {
    this.#silent = failure.kind === "timeout"
    breaker.failed(failure.kind)
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

  readonly #nextTurn = (): void => {
    const call = this.#turns?.shift()
    if (call === undefined) {
      this.#turns = undefined
      return
    }
    soon(this.#nextTurn)
    call.settle()
  }

  readonly #depart = (): void => {
    const waiting = this.#waiting
    this.#waiting = []
    if (!this.connection.isCluster) {
      this.#inCalls(waiting)
      return
    }
    // A script may touch one slot only. Calls written in the same tick share a packet per node.
    const bySlot = new Map<number, Pending[]>()
    for (const pending of waiting) {
      const slot = keyslot(pending.keys[0] ?? "")
      const together = bySlot.get(slot)
      if (together === undefined) bySlot.set(slot, [pending])
      else together.push(pending)
    }
    for (const together of bySlot.values()) this.#inCalls(together)
  }

  #inCalls(waiting: Pending[]): void {
    let start = 0
    while (start < waiting.length) {
      let keys = 0
      let end = start
      while (end < waiting.length && end - start < MOST_CHECKS) {
        keys += (waiting[end] as Pending).keys.length
        if (keys > MOST_KEYS && end > start) break
        end++
      }
      const together = start === 0 && end === waiting.length ? waiting : waiting.slice(start, end)
      this.#send(together)
      start = end
    }
  }

  /** This runs in a callback of the system, where nobody could catch what is thrown. */
  #send(together: readonly Pending[]): void {
    let call: Call
    try {
      call = new Call(this, this.#breakerOf(together[0]?.keys[0]), together, ++this.#callsMade)
    } catch (error) {
      // A request that cannot be encoded fails alone, not with all that would have travelled with it.
      if (together.length > 1) for (const pending of together) this.#send([pending])
      else together[0]?.reject(unsent(error))
      return
    }
    call.depart()
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
      // The caller has been answered without Redis: what is sent now would be counted although nobody waits for it.
      if (performance.now() - askedAt > this.deadlineMs)
        throw new StoreFailure("connection", "connected too late")
    }
    return await this.connection.send(key, args)
  }

  /** The smallest real call: the same script, with a write, so that it fails for the same reasons as a check would. */
  async #probe(key: string): Promise<void> {
    const charges = [{ namespace: PROBE, key, policy: blockPolicy, cost: 1 }]
    const request = { operation: CHARGE, charges, keys: [key], at: undefined } as const
    const { args } = encode([request], this.expiryBufferMs, this.leastExpiryMs)
    const rest = ["1", key, ...args]
    try {
      await this.#sendCommand(key, ["EVALSHA", SCRIPT_DIGEST, ...rest])
    } catch (error) {
      if (!isNoScript(error)) throw error
      await this.#sendCommand(key, ["EVAL", SCRIPT, ...rest])
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
