// CL.THROTTLE key max_burst count period [quantity], compatible with redis-cell. The reply is five integers:
//
//   0 or 1      allowed or denied
//   limit       max_burst + 1
//   remaining   the largest quantity that is allowed now
//   retry       seconds until this quantity is allowed; -1 when it is allowed now or can never be
//   reset       seconds until the key has its full capacity again
//
// Seconds are rounded up, so that a client that waits that long is allowed. A quantity of 0 charges nothing.

import { isUtf8 } from "node:buffer"
import type { Charge, Outcome, Store, SyncStore } from "sluice"
import { MemoryStore, Namespace } from "sluice/internal"
import type { ReplyWriter } from "./reply-writer.js"
import type { RequestParser } from "./request-parser.js"
import { type Policy, ThrottleArgumentError, ThrottlePolicies } from "./throttle-policy.js"

/** Writes a reply, when those before it are written. */
export type Answer = (reply: ReplyWriter) => void

/** The number of databases for SELECT. Each has its own counters. */
export const DATABASES = 16

const USAGE = "usage: cl.throttle <key> <max_burst> <count per period> <period> [<quantity>]"
const ARGUMENTS = ["key", "max_burst", "count", "period", "quantity"]
const MICROS = 1_000_000

/** Decisions since the last `takeCounts`. */
export interface ThrottleCounts {
  allowed: number
  denied: number
  degraded: number
}

export class Throttle {
  readonly #store: Store
  readonly #sync: SyncStore | undefined
  readonly #memory: MemoryStore | undefined
  readonly #policies = new ThrottlePolicies()
  readonly #namespaces: readonly Namespace[]
  #counts: ThrottleCounts = { allowed: 0, denied: 0, degraded: 0 }

  constructor(store: Store, prefix: string) {
    this.#store = store
    this.#sync = "checkOneSync" in store ? (store as SyncStore) : undefined
    this.#memory = store instanceof MemoryStore ? store : undefined
    this.#namespaces = Array.from(
      { length: DATABASES },
      (_, database) => new Namespace(database === 0 ? `${prefix}:cl` : `${prefix}:cl:${database}`, prefix),
    )
  }

  takeCounts(): ThrottleCounts {
    const counts = this.#counts
    this.#counts = { allowed: 0, denied: 0, degraded: 0 }
    return counts
  }

  /**
   * Answers the command in `request`; returns a promise when the store is asynchronous. Throws what must be reported to the
   * client.
   */
  run(request: RequestParser, database: number, reply: ReplyWriter): Promise<Answer> | undefined {
    const { count, bytes, starts, ends } = request
    if (count !== 5 && count !== 6) throw new ThrottleArgumentError(USAGE)
    const policy = this.#policies.get(integer(request, 2), integer(request, 3), integer(request, 4))
    const cost = count === 6 ? integer(request, 5) : 1
    if (!(cost >= 0 && cost <= Number.MAX_SAFE_INTEGER))
      throw new ThrottleArgumentError(`quantity must be from 0 to 2^53, got ${cost}`)
    const namespace = this.#namespaces[database] as Namespace
    const verdict = this.#memory?.checkBytesSync(
      namespace,
      bytes,
      starts[1] as number,
      ends[1] as number,
      policy,
      cost,
    )
    if (verdict !== undefined) {
      this.#answer(reply, policy, cost, verdict, verdict.degraded)
      return undefined
    }
    const key = keyOf(request.raw(1))
    if (this.#sync !== undefined) {
      const single = this.#sync.checkOneSync(namespace, key, policy, cost)
      this.#answer(reply, policy, cost, single, single.degraded)
      return undefined
    }
    return this.#ask({ namespace, key, policy, cost })
  }

  async #ask(charge: Charge & { readonly policy: Policy }): Promise<Answer> {
    const { verdicts, degraded } = await this.#store.check([charge])
    const [verdict] = verdicts
    return (reply) =>
      this.#answer(reply, charge.policy, charge.cost, verdict as Outcome["verdicts"][0], degraded)
  }

  #answer(
    reply: ReplyWriter,
    { capacity }: Policy,
    cost: number,
    { allowed, remaining, retryAfter, resetAfter }: Outcome["verdicts"][0],
    degraded: Outcome["degraded"],
  ): void {
    if (cost > 0) {
      if (allowed) this.#counts.allowed++
      else this.#counts.denied++
      if (degraded !== undefined) this.#counts.degraded++
    }
    const retry = allowed || retryAfter === Number.POSITIVE_INFINITY ? -1 : Math.ceil(retryAfter / MICROS)
    reply.decision(allowed, capacity, remaining, retry, Math.ceil(resetAfter / MICROS))
  }
}

function integer(request: RequestParser, index: number): number {
  const value = request.integer(index)
  if (Number.isNaN(value))
    throw new ThrottleArgumentError(
      `${ARGUMENTS[index - 1]} must be an integer, got '${shown(request.text(index))}'`,
    )
  return value
}

/** Rejects keys that are not UTF-8: invalid bytes decode to the same character, so different keys would share a counter. */
function keyOf(bytes: Buffer): string {
  if (!isUtf8(bytes)) throw new ThrottleArgumentError("the key must be UTF-8")
  return bytes.toString()
}

function shown(text: string): string {
  return text.length > 60 ? `${text.slice(0, 57)}...` : text
}
