// A lease belongs to a list of charges: all limits that a check asks about together. Lists of the same limits share one
// `ChargeList`, which finds the leases of its keys.

import type { Policy } from "../../algorithms/algorithm.js"
import { isBlock } from "../../algorithms/block.js"
import type { Charge, Namespace } from "../store.js"

/** The limits of one kind of check, in order, and where the leases of its keys are in the table. */
export interface ChargeList {
  readonly namespaces: readonly Namespace[]
  readonly policies: readonly Policy[]
  /** How long a lease lasts at most, in µs: as long as the shortest of its limits allows. */
  readonly length: number
  /** The first row of each key. */
  readonly rows: Map<string, number>
}

interface Node {
  readonly list: ChargeList | undefined
  readonly next: WeakMap<Namespace, Map<Policy, Node>>
}

export class ChargeLists {
  readonly #root: Node = { list: undefined, next: new WeakMap() }
  #last: ChargeList | undefined
  #lastOne: ChargeList | undefined

  /** The list of a single charge. The policy must have a lease. */
  ofOne(namespace: Namespace, policy: Policy): ChargeList {
    const last = this.#lastOne
    if (last !== undefined && last.namespaces[0] === namespace && last.policies[0] === policy) return last
    this.#lastOne = step(this.#root, namespace, policy).list as ChargeList
    return this.#lastOne
  }

  /** The list of some charges. Undefined if they cannot be leased: a limit has no leases, or a cost is 0. */
  of(charges: readonly Charge[]): ChargeList | undefined {
    const first = charges[0]
    if (first === undefined || !charges.every(isLeased)) return undefined
    if (charges.length === 1) return this.ofOne(first.namespace, first.policy)
    if (isListOf(this.#last, charges)) return this.#last
    let node = this.#root
    for (const { namespace, policy } of charges) node = step(node, namespace, policy)
    this.#last = node.list
    return node.list
  }
}

function isListOf(list: ChargeList | undefined, charges: readonly Charge[]): boolean {
  if (list === undefined || list.policies.length !== charges.length) return false
  for (let i = 0; i < charges.length; i++) {
    const { namespace, policy } = charges[i] as Charge
    if (list.namespaces[i] !== namespace || list.policies[i] !== policy) return false
  }
  return true
}

/**
 * A check asks about a block with a cost of 0. A lease over it holds although the key may be blocked before the lease ends. A penalty
 * needs the store, which counts every denial.
 */
function isLeased({ policy, cost, penalizes }: Charge): boolean {
  return policy.lease > 0 ? cost > 0 : isBlock(policy) && cost === 0 && penalizes === undefined
}

function step(node: Node, namespace: Namespace, policy: Policy): Node {
  let byPolicy = node.next.get(namespace)
  if (byPolicy === undefined) {
    byPolicy = new Map()
    node.next.set(namespace, byPolicy)
  }
  let next = byPolicy.get(policy)
  if (next === undefined) {
    const { namespaces = [], policies = [], length = Number.POSITIVE_INFINITY } = node.list ?? {}
    next = {
      list: {
        namespaces: [...namespaces, namespace],
        policies: [...policies, policy],
        length: policy.lease > 0 ? Math.min(length, policy.lease) : length,
        rows: new Map(),
      },
      next: new WeakMap(),
    }
    byPolicy.set(policy, next)
  }
  return next
}

/** What a list knows the keys of its charges by. Most lists have one key. */
export function nameOf(charges: readonly Charge[]): string {
  const { key } = charges[0] as Charge
  for (let i = 1; i < charges.length; i++) {
    if ((charges[i] as Charge).key !== key)
      return charges.map((charge) => `${charge.key.length}:${charge.key}`).join("")
  }
  return key
}
