import type { MemoryStore } from "../memory/memory-store.js"
import type { Charge, Check, Namespace, Outcome, Settled, Settlement, Store } from "../store.js"

/** One instance's way to a shared store, which the test cuts and mends. */
export class FlakyStore implements Store {
  readonly #shared: MemoryStore
  readonly instances: number
  /** What every call meets, when set. */
  failure: Error | undefined = undefined
  /** Calls that reached the store. */
  calls = 0

  constructor(shared: MemoryStore, instances = 1) {
    this.#shared = shared
    this.instances = instances
  }

  check(charges: readonly Charge[], at?: number): Promise<Outcome> {
    return this.#ask((store) => store.check(charges, at))
  }

  decide(charges: readonly Charge[], at?: number): Promise<Outcome> {
    return this.#ask((store) => store.decide(charges, at))
  }

  checkMany(checks: readonly Check[]): Promise<Outcome[]> {
    return this.#ask((store) => store.checkMany(checks))
  }

  charge(charges: readonly Charge[], at?: number): Promise<void> {
    return this.#ask((store) => store.charge(charges, at))
  }

  refund(charges: readonly Charge[], at?: number): Promise<void> {
    return this.#ask((store) => store.refund(charges, at))
  }

  settle(settlements: readonly Settlement[], at?: number): Promise<Settled> {
    return this.#ask((store) => store.settle(settlements, at))
  }

  release(charges: readonly Charge[], at?: number): Promise<boolean> {
    return this.#ask((store) => store.release(charges, at))
  }

  extend(charges: readonly Charge[], at?: number): Promise<boolean> {
    return this.#ask((store) => store.extend(charges, at))
  }

  reset(charges: readonly Charge[]): Promise<void> {
    return this.#ask((store) => store.reset(charges))
  }

  mayBlock(namespace: Namespace): boolean {
    return this.#shared.mayBlock(namespace)
  }

  async close(): Promise<void> {
    await this.#shared.close()
  }

  async #ask<T>(question: (store: MemoryStore) => Promise<T>): Promise<T> {
    if (this.failure !== undefined) throw this.failure
    this.calls++
    return await question(this.#shared)
  }
}
