import type { Policy, Verdict } from "../../algorithms/algorithm.js"
import { compilePolicy, type LimitOptions } from "../../policy.js"
import { type Charge, Namespace, type Store } from "../../stores/store.js"

/** How a part of the contract defines a test. The body gets an open store. */
export type DefineTest = (name: string, body: (store: Store) => Promise<void>) => void

/** The fields of a verdict that callers see. */
export type Answer = Pick<Verdict, "allowed" | "remaining" | "used" | "retryAfter" | "resetAfter" | "delay">

/**
 * The time at which tests begin: a multiple of every window used here. Every call passes its time, so the clock of the store
 * does not matter. Windows are 10 s or longer, so that a key of a store that expires keys by real time still exists when the
 * test ends.
 */
const START = Date.UTC(2026, 0, 1) * 1000

/** The time in microseconds that many seconds after the start. */
export function second(seconds: number): number {
  return START + Math.round(seconds * 1e6)
}

/** A name that no other test and no other run uses, because the store may be shared and keep its keys. */
export function freshName(): string {
  return `contract:${globalThis.crypto.randomUUID()}`
}

/** One limit on the store under test, in a namespace of its own. */
export class Counter {
  readonly store: Store
  readonly policy: Policy
  readonly namespace: Namespace

  constructor(store: Store, limit: LimitOptions, namespace = new Namespace(freshName())) {
    this.store = store
    this.policy = compilePolicy(limit, "contract")
    this.namespace = namespace
  }

  charge(cost = 1, key = "key"): Charge {
    return { namespace: this.namespace, key, policy: this.policy, cost }
  }

  async check(at: number, cost = 1, key = "key"): Promise<Answer> {
    const { verdicts } = await this.store.check([this.charge(cost, key)], at)
    return answer(verdicts[0] as Verdict)
  }

  peek(at: number, key = "key"): Promise<Answer> {
    return this.check(at, 0, key)
  }

  /** The same counter under another limit. */
  under(limit: LimitOptions): Counter {
    return new Counter(this.store, limit, this.namespace)
  }
}

/** Copies what callers see of a verdict. A copy, because some stores reuse their verdicts. */
export function answer(verdict: Verdict): Answer {
  const { allowed, remaining, used, retryAfter, resetAfter, delay } = verdict
  return { allowed, remaining, used, retryAfter, resetAfter, delay }
}
