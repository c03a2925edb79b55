// Compact forms of states. A table uses the compact form as long as all of its policies fit, and is rewritten in the full form
// when one does not.

import type { Algorithm, Policy } from "../../algorithms/algorithm.js"
import { bucketOfOneRate } from "../../algorithms/bucket.js"
import { compactCounter, fitsCompactCounter, isCompact, widen } from "./compact-counter.js"

export interface CompactForm {
  /** The algorithm on states in this form. */
  readonly algorithm: Algorithm
  /** Whether states of a policy fit this form. */
  fits(policy: Policy): boolean
  /** Whether the state at `at` still fits this form after a charge without a decision. */
  takes(cells: Float64Array, at: number, cost: number): boolean
  /** Converts a state to the full form. */
  widen(cells: Float64Array, at: number, to: Float64Array, toAt: number): void
}

const counterForm: CompactForm = {
  algorithm: compactCounter,
  fits: isCompact,
  takes: fitsCompactCounter,
  widen,
}

/** The compact form for a table whose only policy so far is `policy`, if there is one. */
export function compactFormOf(policy: Policy): CompactForm | undefined {
  if (isCompact(policy)) return counterForm
  return policy.token > 0 ? bucketForm(policy) : undefined
}

/** Buckets of one rate need not store the rate in every state. */
function bucketForm({ token, leak }: Policy): CompactForm {
  const cellCount = 3
  return {
    algorithm: bucketOfOneRate,
    fits: (policy) => policy.token === token && policy.leak === leak,
    takes: () => true,
    widen(cells, at, to, toAt) {
      for (let i = 0; i < cellCount; i++) to[toAt + i] = cells[at + i] as number
      to[toAt + cellCount] = token
      to[toAt + cellCount + 1] = leak
    },
  }
}
