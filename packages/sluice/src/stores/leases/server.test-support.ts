import type { ManualClock } from "../../testing/manual-clock.js"
import { MemoryStore } from "../memory/memory-store.js"
import type { Charge, Check, Namespace, Outcome, Settled, Settlement, Store } from "../store.js"

/** A shared store for tests: counters in memory that are a call away, and a list of the calls. */
export class TestServer implements Store {
  readonly memory: MemoryStore
  readonly calls: { readonly operation: string; readonly charges: readonly Charge[] }[] = []
  instances = 1
  /** Set to make calls fail. */
  failure: Error | undefined

  constructor(clock: ManualClock) {
    this.memory = new MemoryStore({ clock })
  }

  check(charges: readonly Charge[], at?: number): Promise<Outcome> {
    return this.#call("check", charges, () => this.memory.check(charges, at))
  }

  decide(charges: readonly Charge[], at?: number): Promise<Outcome> {
    return this.#call("decide", charges, () => this.memory.decide(charges, at))
  }

  checkMany(checks: readonly Check[]): Promise<Outcome[]> {
    return Promise.all(checks.map(({ charges, at }) => this.check(charges, at)))
  }

  charge(charges: readonly Charge[], at?: number): Promise<void> {
    return this.#call("charge", charges, () => this.memory.charge(charges, at))
  }

  refund(charges: readonly Charge[], at?: number): Promise<void> {
    return this.#call("refund", charges, () => this.memory.refund(charges, at))
  }

  settle(settlements: readonly Settlement[], at?: number): Promise<Settled> {
    return this.#call("settle", settlements, () => this.memory.settle(settlements, at))
  }

  reset(charges: readonly Charge[]): Promise<void> {
    return this.#call("reset", charges, () => this.memory.reset(charges))
  }

  mayBlock(namespace: Namespace): boolean {
    return this.memory.mayBlock(namespace)
  }

  close(): Promise<void> {
    return this.memory.close()
  }

  /** The costs of the calls of one kind so far. */
  costs(operation: string): number[] {
    return this.calls
      .filter((call) => call.operation === operation)
      .map(({ charges }) => charges[0]?.cost ?? 0)
  }

  async #call<T>(operation: string, charges: readonly Charge[], run: () => Promise<T>): Promise<T> {
    this.calls.push({ operation, charges })
    if (this.failure !== undefined) throw this.failure
    return await run()
  }
}
