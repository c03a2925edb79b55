import type { CostSpec } from "../language/schema.js"
import type { Steps } from "../language/steps.js"
import { matcherSteps } from "../match/index.js"
import type { Identity } from "./identity.js"

/** What one request takes of a rule's limits. */
export type CostOf = (identity: Identity) => number

/** The most a header may say when the rule does not say it. */
export const LARGEST_COST = 1_000_000

export function* compileCost(spec: CostSpec | undefined, place: string): Steps<CostOf> {
  if (spec === undefined || typeof spec === "number") {
    const cost = spec ?? 1
    return () => cost
  }
  const { by = [], header, max = LARGEST_COST } = spec
  const otherwise = spec.estimate ?? spec.default ?? 1
  const name = header?.toLowerCase()
  const matcher = yield* matcherSteps(by, (i) => `${place}.by[${i}]`)
  return (identity) => {
    // A client that may name its own price pays nothing: only a trusted proxy is believed.
    const said = identity.trustedHeader(name)
    if (said !== undefined && /^\d{1,15}$/.test(said)) return Math.min(Number(said), max)
    const first = by.length === 0 ? undefined : matcher.match(identity)[0]
    return first === undefined ? otherwise : (by[first.index]?.cost ?? otherwise)
  }
}
