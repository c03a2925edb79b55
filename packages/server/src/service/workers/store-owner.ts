import type { Charge, Store } from "sluice"
import { restorePolicy, type SavedPolicy, Space } from "sluice/internal"
import type { StoreBatch, WireCall, WireResult } from "./messages.js"

/** More spaces and policies than rule sets have. Those of CL.THROTTLE come from clients and have no end. */
const MOST_KEPT = 10_000

/** Answers workers from the store of this process. */
export class StoreOwner {
  readonly #store: Store
  readonly #spaces = new Map<string, Space>()
  readonly #policies = new Map<string, Charge["policy"]>()

  constructor(store: Store) {
    this.#store = store
  }

  /** In the order they were asked. One that fails leaves the others alone. */
  async answer({ policies, calls }: Pick<StoreBatch, "policies" | "calls">): Promise<WireResult[]> {
    const restored = policies.map((policy) => this.#policy(policy))
    // The store decides while it is called, so the order of calls is the order of decisions.
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
      ([space, key, policy, cost]): Charge => ({
        space: this.#space(space),
        key,
        policy: policies[policy] as Charge["policy"],
        cost,
      }),
    )
    return operation === "reset" ? this.#store.reset(own) : this.#store[operation](own, at)
  }

  #space(name: string): Space {
    let space = this.#spaces.get(name)
    if (space === undefined) {
      space = new Space(name)
      keep(this.#spaces, name, space)
    }
    return space
  }

  #policy(saved: SavedPolicy): Charge["policy"] {
    const name = Object.values(saved).join()
    let policy = this.#policies.get(name)
    if (policy === undefined) {
      policy = restorePolicy(saved)
      keep(this.#policies, name, policy)
    }
    return policy
  }
}

function keep<T>(kept: Map<string, T>, name: string, value: T): void {
  if (kept.size >= MOST_KEPT) kept.clear()
  kept.set(name, value)
}
