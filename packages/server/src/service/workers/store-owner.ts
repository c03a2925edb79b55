import type { Charge, Settlement, Store } from "sluice"
import { Namespace, restorePolicy, type SavedPolicy } from "sluice/internal"
import type { StoreBatch, WireCall, WireResult } from "./messages.js"

/** More namespaces and policies than rule sets have. Clients choose those of CL.THROTTLE, so their number needs a bound. */
const MAX_KEPT = 10_000

/** Answers the calls of workers from the store of this process. */
export class StoreOwner {
  readonly #store: Store
  readonly #namespaces = new Map<string, Namespace>()
  readonly #policies = new Map<string, Charge["policy"]>()

  constructor(store: Store) {
    this.#store = store
  }

  /** Runs the calls in order. A call that fails does not affect the others. */
  async answer({ policies, calls }: Pick<StoreBatch, "policies" | "calls">): Promise<WireResult[]> {
    const restored = policies.map((policy) => this.#policy(policy))
    // The memory store decides during the call, so the order of calls is the order of decisions.
    return await Promise.all(
      calls.map(async (call) => {
        try {
          return { value: await this.#run(call, restored) }
        } catch (error) {
          return { error: error instanceof Error ? error.message : String(error) }
        }
      }),
    )
  }

  #run({ operation, charges, at }: WireCall, policies: readonly Charge["policy"][]): Promise<unknown> {
    const own = charges.map(
      ([namespace, key, policy, cost, chargedAt, hold, penalizes, correction]): Charge | Settlement => ({
        namespace: this.#namespace(namespace),
        key,
        policy: policies[policy] as Charge["policy"],
        cost,
        chargedAt,
        hold,
        penalizes: penalizes === undefined ? undefined : this.#namespace(penalizes),
        ...(correction === undefined ? {} : { correction }),
      }),
    )
    if (operation === "reset") return this.#store.reset(own)
    // The store of a primary has every operation.
    return this.#store[operation]?.(own as Settlement[], at) ?? Promise.resolve(false)
  }

  #namespace(name: string): Namespace {
    let namespace = this.#namespaces.get(name)
    if (namespace === undefined) {
      namespace = new Namespace(name)
      keep(this.#namespaces, name, namespace)
    }
    return namespace
  }

  #policy(saved: SavedPolicy): Charge["policy"] {
    const name = JSON.stringify(saved)
    let policy = this.#policies.get(name)
    if (policy === undefined) {
      policy = restorePolicy(saved)
      keep(this.#policies, name, policy)
    }
    return policy
  }
}

function keep<T>(kept: Map<string, T>, name: string, value: T): void {
  if (kept.size >= MAX_KEPT) kept.clear()
  kept.set(name, value)
}
