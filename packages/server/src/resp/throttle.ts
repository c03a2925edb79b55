// CL.THROTTLE key max_burst count period [quantity], as redis-cell has it. Five integers come back:
//
//   0 or 1      allowed or denied
//   limit       max_burst + 1
//   remaining   the largest quantity that would be allowed now
//   retry       seconds until this quantity is allowed; -1 when it is, or when it can never fit
//   reset       seconds until the key is as if it had never been used
//
// Seconds are rounded up, so that waiting that long works. A quantity of 0 only looks.

import { isUtf8 } from "node:buffer"
import type { Charge, Outcome, Store, SyncStore } from "sluice"
import { type ByteKeys, byteKeys, Namespace } from "sluice/internal"
import { parseInteger } from "./integer.js"
import { RepeatedThrottle } from "./repeated-throttle.js"
import type { ReplyWriter } from "./reply-writer.js"
import type { RequestParser } from "./request-parser.js"
import { type Terms, TermsCache, TermsError } from "./terms.js"

/** Writes a reply whose turn has come. */
export type Answer = (reply: ReplyWriter) => void

/** How many databases SELECT knows: each has counters of its own. */
export const DATABASES = 16

const USAGE = "usage: cl.throttle <key> <max_burst> <count per period> <period> [<quantity>]"
const ARGUMENTS = ["key", "max_burst", "count", "period", "quantity"]
const MICROS = 1_000_000

/** Decisions made since somebody took them. */
export interface ThrottleCounts {
  allowed: number
  denied: number
  degraded: number
}

export class Throttle {
  readonly #store: Store
  readonly #sync: SyncStore | undefined
  readonly #bytes: ByteKeys | undefined
  readonly #terms = new TermsCache()
  readonly #repeated = new RepeatedThrottle()
  readonly #namespaces: readonly Namespace[]
  #counts: ThrottleCounts = { allowed: 0, denied: 0, degraded: 0 }

  constructor(store: Store, prefix: string) {
    this.#store = store
    this.#sync = "checkOneSync" in store ? (store as SyncStore) : undefined
    this.#bytes = byteKeys(store)
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

  /** Where the next command starts, if the one at `at` was answered before but for its key: `repeat` answers it. Else 0. */
  find(bytes: DataView, at: number, end: number, mostBytes: number): number {
    const repeated = this.#repeated
    // As the parser counts: without the last CRLF.
    return repeated.find(bytes, at, end) && repeated.next - 2 - at <= mostBytes ? repeated.next : 0
  }

  /** Answers the command that `find` has found in `bytes`, as `run` would. */
  repeat(bytes: Buffer, database: number, reply: ReplyWriter): Promise<Answer> | undefined {
    const { keyStart, keyEnd, terms, cost } = this.#repeated
    return this.#check(bytes, keyStart, keyEnd, terms as Terms, cost, database, reply)
  }

  /** Answers the command in `request`; a promise where the store needs one. Throws what the client has to be told. */
  run(request: RequestParser, database: number, reply: ReplyWriter): Promise<Answer> | undefined {
    const { count, bytes, starts, ends } = request
    if (count !== 5 && count !== 6) throw new TermsError(USAGE)
    const terms = this.#terms.get(integer(request, 2), integer(request, 3), integer(request, 4))
    const cost = count === 6 ? integer(request, 5) : 1
    if (!(cost >= 0 && cost <= Number.MAX_SAFE_INTEGER))
      throw new TermsError(`quantity must be from 0 to 2^53, got ${cost}`)
    this.#repeated.remember(request, terms, cost)
    return this.#check(bytes, starts[1] as number, ends[1] as number, terms, cost, database, reply)
  }

  /** Checks the key in `bytes` from `start` to `end`. */
  #check(
    bytes: Buffer,
    start: number,
    end: number,
    terms: Terms,
    cost: number,
    database: number,
    reply: ReplyWriter,
  ): Promise<Answer> | undefined {
    const { policy } = terms
    const namespace = this.#namespaces[database] as Namespace
    const verdict = this.#bytes?.checkOneSync(namespace, bytes, start, end, policy, cost)
    if (verdict !== undefined) {
      this.#answer(reply, terms, cost, verdict, verdict.degraded)
      return undefined
    }
    const key = keyOf(bytes.subarray(start, end))
    if (this.#sync !== undefined) {
      const single = this.#sync.checkOneSync(namespace, key, policy, cost)
      this.#answer(reply, terms, cost, single, single.degraded)
      return undefined
    }
    return this.#ask({ namespace, key, policy, cost }, terms)
  }

  async #ask(charge: Charge, terms: Terms): Promise<Answer> {
    const { verdicts, degraded } = await this.#store.check([charge])
    const [verdict] = verdicts
    return (reply) => this.#answer(reply, terms, charge.cost, verdict as Outcome["verdicts"][0], degraded)
  }

  #answer(
    reply: ReplyWriter,
    { policy }: Terms,
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
    reply.decision(allowed, policy.capacity, remaining, retry, Math.ceil(resetAfter / MICROS))
  }
}

function integer(request: RequestParser, index: number): number {
  const value = parseInteger(request.bytes, request.starts[index] as number, request.ends[index] as number)
  if (Number.isNaN(value))
    throw new TermsError(`${ARGUMENTS[index - 1]} must be an integer, got '${shown(request.text(index))}'`)
  return value
}

/** Text, as everywhere else: a key that is none would meet the counter of another, since what is no UTF-8 reads alike. */
function keyOf(bytes: Buffer): string {
  if (!isUtf8(bytes)) throw new TermsError("the key must be UTF-8")
  return bytes.toString()
}

function shown(text: string): string {
  return text.length > 60 ? `${text.slice(0, 57)}...` : text
}
