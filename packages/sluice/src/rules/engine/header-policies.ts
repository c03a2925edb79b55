import { getOrAdd } from "../../get-or-add.js"
import type { HeaderPolicy } from "../../header-style.js"
import type { RuleLimitPolicy } from "./compile-rule.js"
import type { Step } from "./plan.js"

interface Node {
  policies: readonly HeaderPolicy[] | undefined
  readonly next: WeakMap<readonly RuleLimitPolicy[], Node>
}

/** The limits of checks as headers describe them. Equal lists of limits give the same array, so that others may memoize by it. */
export class HeaderPolicies {
  readonly #root: Node = { policies: [], next: new WeakMap() }

  of(steps: readonly Step[]): readonly HeaderPolicy[] {
    let node = this.#root
    for (const { limits } of steps) {
      node = getOrAdd(node.next, limits, () => ({ policies: undefined, next: new WeakMap() }))
    }
    node.policies ??= policiesOf(steps)
    return node.policies
  }
}

/** Names are unique: a rule that several descriptors match is `api`, `api#2` and so on. */
function policiesOf(steps: readonly Step[]): HeaderPolicy[] {
  const taken = new Set<string>()
  return steps.flatMap(({ rule, limits }) =>
    limits.map(({ name: limitName, policy, windowMs }) => {
      const label = limits.length === 1 ? rule.id : `${rule.id}/${limitName}`
      let name = label
      for (let count = 2; taken.has(name); count++) name = `${label}#${count}`
      taken.add(name)
      return { name, quota: policy.limit, windowMs }
    }),
  )
}
