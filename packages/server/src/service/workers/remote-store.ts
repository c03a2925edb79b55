// The memory store as a worker sees it: the counters are in the primary. Because one process counts, a key has one counter
// whichever worker gets its requests, and a check of several keys is all or nothing.

import {
  type Charge,
  type Check,
  type Outcome,
  type Settled,
  type Settlement,
  SluiceError,
  type Store,
} from "sluice"
import { type Namespace, type SavedPolicy, savePolicy } from "sluice/internal"
import type { StoreBatch, StoreOperation, WireCall, WireCharge, WireResult } from "./messages.js"

interface Waiting {
  resolve(value: unknown): void
  reject(error: unknown): void
}

/** A store that asks another process. The calls of one turn of the event loop travel in one message. */
export class RemoteStore implements Store {
  readonly #send: (batch: StoreBatch) => void
  readonly #underWay = new Map<number, Waiting[]>()
  #calls: WireCall[] = []
  #waiting: Waiting[] = []
  #policies = new Map<Charge["policy"], number>()
  #saved: SavedPolicy[] = []
  #lastId = 0
  #closed = false

  constructor(send: (batch: StoreBatch) => void) {
    this.#send = send
  }

  check(charges: readonly Charge[], at?: number): Promise<Outcome> {
    return this.#call("check", charges, at) as Promise<Outcome>
  }

  decide(charges: readonly Charge[], at?: number): Promise<Outcome> {
    return this.#call("decide", charges, at) as Promise<Outcome>
  }

  checkMany(checks: readonly Check[]): Promise<Outcome[]> {
    return Promise.all(checks.map(({ charges, at }) => this.check(charges, at)))
  }

  async charge(charges: readonly Charge[], at?: number): Promise<void> {
    await this.#call("charge", charges, at)
  }

  async refund(charges: readonly Charge[], at?: number): Promise<void> {
    await this.#call("refund", charges, at)
  }

  settle(settlements: readonly Settlement[], at?: number): Promise<Settled> {
    return this.#call("settle", settlements, at) as Promise<Settled>
  }

  release(charges: readonly Charge[], at?: number): Promise<boolean> {
    return this.#call("release", charges, at) as Promise<boolean>
  }

  extend(charges: readonly Charge[], at?: number): Promise<boolean> {
    return this.#call("extend", charges, at) as Promise<boolean>
  }

  async reset(charges: readonly Charge[]): Promise<void> {
    await this.#call("reset", charges, undefined)
  }

  /** Always true: another worker may have blocked a key a moment ago, so each check asks the primary. */
  mayBlock(_namespace: Namespace): boolean {
    return true
  }

  async close(): Promise<void> {
    this.#closed = true
  }

  /** Resolves the calls of a batch with the primary's answer. */
  answer(id: number, results: readonly WireResult[]): void {
    const waiting = this.#underWay.get(id)
    this.#underWay.delete(id)
    waiting?.forEach(({ resolve, reject }, i) => {
      const { value, error } = results[i] ?? { error: "had no answer" }
      if (error === undefined) resolve(value)
      else reject(new SluiceError("STORE_CLOSED", { place: "store", expected: error }))
    })
  }

  #call(operation: StoreOperation, charges: readonly Charge[], at: number | undefined): Promise<unknown> {
    if (this.#closed)
      return Promise.reject(new SluiceError("STORE_CLOSED", { place: "store", expected: "was closed" }))
    return new Promise((resolve, reject) => {
      if (this.#calls.length === 0) setImmediate(() => this.#flush())
      this.#calls.push({ operation, charges: charges.map((charge) => this.#wire(charge)), at })
      this.#waiting.push({ resolve, reject })
    })
  }

  #wire(charge: Charge): WireCharge {
    const { namespace, key, policy, cost, chargedAt, hold, penalizes } = charge
    let index = this.#policies.get(policy)
    if (index === undefined) {
      index = this.#saved.push(savePolicy(policy)) - 1
      this.#policies.set(policy, index)
    }
    const { correction } = charge as Partial<Settlement>
    return [namespace.name, key, index, cost, chargedAt, hold, penalizes?.name, correction]
  }

  #flush(): void {
    const id = ++this.#lastId
    this.#underWay.set(id, this.#waiting)
    this.#send({ type: "store", id, policies: this.#saved, calls: this.#calls })
    this.#calls = []
    this.#waiting = []
    this.#policies = new Map()
    this.#saved = []
  }
}
