// The way to one server, or to one Cluster: checks of the same tick travel together, each call has a deadline, and a
// breaker keeps calls away from a server that does not answer.
//
// A Cluster has a breaker for every sixteenth of its slots. Nodes own long ranges of slots, so that this is nearly a breaker
// per node, without having to know the nodes: one dead primary degrades its own share of the keys only.

import { blockPolicy } from "../algorithms/block.js"
import { Breaker } from "../resilience/breaker.js"
import { withDeadline } from "../resilience/deadline.js"
import { StoreFailure } from "../resilience/store-failure.js"
import type { Outcome } from "../stores/store.js"
import { Space } from "../stores/store.js"
import type { RedisConnection } from "./client.js"
import type { Request } from "./codec.js"
import { CHARGE, DECIDE, decode, encode } from "./codec.js"
import { failureOf, isNoScript } from "./failure.js"
import { keyslot } from "./keyslot.js"
import { SCRIPT, SCRIPT_DIGEST } from "./scripts.js"
import { decodeUniform, encodeUniform } from "./uniform.js"

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

const PROBE = new Space("probe")

interface Pending {
  readonly request: Request
  readonly resolve: (outcome: Outcome) => void
  readonly reject: (failure: StoreFailure) => void
}

const soon: (callback: () => void) => void =
  typeof process === "object" && typeof process.nextTick === "function" ? process.nextTick : queueMicrotask

export class Lane {
  readonly breakers: readonly Breaker[]
  readonly #connection: RedisConnection
  readonly #options: LaneOptions
  #waiting: Pending[] = []
  /** Whether the last call timed out, rather than failed. */
  #silent = false

  constructor(connection: RedisConnection, options: LaneOptions) {
    this.#connection = connection
    this.#options = options
    const probeKeys = connection.isCluster ? clusterProbeKeys() : ["s1:probe"]
    this.breakers = probeKeys.map((key) => {
      return new Breaker({
        probe: () => this.#probe(key),
        deadlineMs: options.deadlineMs,
        onChange: ({ to }) => {
          if (to === "open" && this.#silent) this.#options.onSilence?.()
        },
      })
    })
  }

  /** Joins the call that leaves when the current run of callbacks is over: a lone check is not delayed. */
  submit(request: Request): Promise<Outcome> {
    return new Promise((resolve, reject) => {
      if (this.#waiting.push({ request, resolve, reject }) === 1) soon(() => this.#depart())
    })
  }

  /** A command of its own, under the same deadline and breaker. */
  async command(key: string | undefined, args: (string | Buffer)[]): Promise<unknown> {
    return await this.#guarded(key, () => this.#send(key, args))
  }

  close(): void {
    for (const breaker of this.breakers) breaker.close()
    for (const pending of this.#waiting)
      pending.reject(new StoreFailure("connection", "the store was closed"))
    this.#waiting = []
  }

  #depart(): void {
    const waiting = this.#waiting
    this.#waiting = []
    if (!this.#connection.isCluster) {
      this.#inCalls(waiting)
      return
    }
    // A script may touch one slot only. Calls written in the same tick share a packet per node.
    const bySlot = new Map<number, Pending[]>()
    for (const pending of waiting) {
      const slot = keyslot(pending.request.keys[0] as string)
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
        keys += (waiting[end] as Pending).request.keys.length
        if (keys > MOST_KEYS && end > start) break
        end++
      }
      void this.#call(start === 0 && end === waiting.length ? waiting : waiting.slice(start, end))
      start = end
    }
  }

  async #call(together: readonly Pending[]): Promise<void> {
    const requests = together.map((pending) => pending.request)
    try {
      const outcomes = await this.#ask(requests)
      for (let i = 0; i < together.length; i++) {
        const outcome = outcomes[i] as Outcome | StoreFailure
        if (outcome instanceof StoreFailure) (together[i] as Pending).reject(outcome)
        else (together[i] as Pending).resolve(outcome)
      }
    } catch (error) {
      const failure = failureOf(error)
      // A dry run charges nothing, whatever became of it.
      const harmless = new StoreFailure(failure.kind, failure.message, { cause: failure.cause })
      for (const { reject, request } of together) reject(request.operation === DECIDE ? harmless : failure)
    }
  }

  async #ask(requests: readonly Request[]): Promise<(Outcome | StoreFailure)[]> {
    const { expiryBufferMs, leastExpiryMs } = this.#options
    const uniform = encodeUniform(requests, expiryBufferMs, leastExpiryMs)
    if (uniform !== undefined) {
      const { keys, args } = uniform
      return decodeUniform(requests, (await this.#guarded(keys[0], () => this.#run(keys, args))) as Buffer)
    }
    const { keys, blob } = encode(requests, expiryBufferMs, leastExpiryMs)
    return decode(requests, (await this.#guarded(keys[0], () => this.#run(keys, [blob]))) as Buffer)
  }

  /** Sends the script's source only to a server that does not have it. NOSCRIPT is the one error safe to repeat after. */
  async #run(keys: string[], args: (string | Buffer)[]): Promise<unknown> {
    const rest = [String(keys.length), ...keys, ...args]
    try {
      return await this.#send(keys[0], ["EVALSHA", SCRIPT_DIGEST, ...rest])
    } catch (error) {
      if (!isNoScript(error)) throw error
      return await this.#send(keys[0], ["EVAL", SCRIPT, ...rest])
    }
  }

  /** A call under the breaker of its key and the deadline. */
  async #guarded(key: string | undefined, call: () => Promise<unknown>): Promise<unknown> {
    const breaker = this.#breakerOf(key)
    if (!breaker.tryEnter()) throw new StoreFailure("breaker-open", "the breaker is open")
    try {
      const reply = await withDeadline(call, this.#options.deadlineMs)
      breaker.succeeded()
      return reply
    } catch (error) {
      const failure = failureOf(error)
      this.#silent = failure.kind === "timeout"
      breaker.failed(failure.kind)
      throw failure
    }
  }

  #breakerOf(key: string | undefined): Breaker {
    const index =
      key === undefined || !this.#connection.isCluster ? 0 : Math.floor(keyslot(key) / SLOTS_PER_BREAKER)
    return this.breakers[index] as Breaker
  }

  async #send(key: string | undefined, args: (string | Buffer)[]): Promise<unknown> {
    const connecting = this.#connection.ready()
    if (connecting !== undefined) {
      const askedAt = performance.now()
      await connecting
      // The caller has been answered without Redis: what is sent now would be counted although nobody waits for it.
      if (performance.now() - askedAt > this.#options.deadlineMs)
        throw new StoreFailure("connection", "connected too late")
    }
    return await this.#connection.send(key, args)
  }

  /** The smallest real call: the same script, with a write, so that it fails for the same reasons as a check would. */
  async #probe(key: string): Promise<void> {
    const charges = [{ space: PROBE, key, policy: blockPolicy, cost: 1 }]
    const request: Request = { operation: CHARGE, charges, keys: [key], at: undefined }
    const { blob } = encode([request], this.#options.expiryBufferMs, this.#options.leastExpiryMs)
    await this.#run([key], [blob])
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
