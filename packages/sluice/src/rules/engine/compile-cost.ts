// The cost of a rule made ready: what a request takes of its limits before the response is known.

import { compileEstimate, compileModels, bodyFieldsOf as fieldsOf } from "../../usage/body-cost.js"
import { fieldTree } from "../../usage/fields.js"
import type { FieldNode } from "../../usage/json-scanner.js"
import type { Identity } from "../identity/identity.js"
import type { CostSpec, RuleSetDocument } from "../language/schema.js"
import type { Steps } from "../language/steps.js"
import { matcherSteps } from "../match/index.js"

/** The units that one request takes of a rule's limits. */
export interface RuleCost {
  of(identity: Identity): number
  /** What the response says of the cost is multiplied by this. */
  factor(identity: Identity): number
  /** Whether the cost depends on the body of the request. */
  readonly readsBody: boolean
}

/** The largest cost that a header or a body may name, unless the rule sets another maximum. */
export const MAX_COST = 1_000_000

const ONE = (): number => 1

/** The tree of all fields that the rules of a set read in bodies: a body is read once for all of them. */
export function bodyFieldsOf({ rules }: RuleSetDocument): FieldNode {
  return fieldTree(
    rules.flatMap(({ cost }) => (typeof cost === "object" ? fieldsOf(cost.estimate, cost.models) : [])),
  )
}

export function* compileCost(
  spec: CostSpec | undefined,
  bodyFields: FieldNode,
  place: string,
): Steps<RuleCost> {
  if (spec === undefined || typeof spec === "number") {
    const cost = spec ?? 1
    return { of: () => cost, factor: ONE, readsBody: false }
  }
  const { by = [], header, estimate, models, max = MAX_COST } = spec
  const fixed = typeof estimate === "number" ? estimate : (spec.default ?? 1)
  const ofBody = typeof estimate === "object" ? compileEstimate(estimate, bodyFields) : undefined
  const ofModel = models === undefined ? undefined : compileModels(models, bodyFields)
  const name = header?.toLowerCase()
  const matcher = yield* matcherSteps(by, (i) => `${place}.by[${i}]`)
  const factor = ofModel === undefined ? ONE : (identity: Identity) => ofModel(identity.body)
  return {
    of(identity) {
      // Only a trusted proxy may name the cost: a client would name 0.
      const given = identity.trustedHeader(name)
      if (given !== undefined && /^\d{1,15}$/.test(given)) return Math.min(Number(given), max)
      const first = by.length === 0 ? undefined : matcher.match(identity)[0]
      const listed = first === undefined ? undefined : by[first.index]?.cost
      const cost = listed ?? ofBody?.(identity.body) ?? fixed
      return factor === ONE ? limited(cost) : limited(Math.ceil(cost * factor(identity)))
    },
    factor,
    readsBody: ofBody !== undefined || ofModel !== undefined,
  }

  /** A cost that is written in the rule has no maximum. */
  function limited(cost: number): number {
    return ofBody === undefined && ofModel === undefined ? cost : Math.min(cost, max)
  }
}
