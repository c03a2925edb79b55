// States nearly always need less than their algorithm allows for. A table keeps the short form as long as every policy it
// meets fits it, and is rewritten in the full form with the first one that does not.

import type { Algorithm, Policy } from "../../algorithms/algorithm.js"
import { bucketOfOneRate } from "../../algorithms/bucket.js"
import { compactCounter, fitsCompactCounter, isCompact, widen } from "./compact-counter.js"

export interface CompactForm {
  /** The arithmetic for states in this form. */
  readonly algorithm: Algorithm
  /** Whether states of a policy can be kept in it. */
  fits(policy: Policy): boolean
  /** Whether a charge without asking can be kept in it, on the state at `at`. */
  takes(cells: Float64Array, at: number, cost: number): boolean
  /** Writes a state in the full form. */
  widen(cells: Float64Array, at: number, to: Float64Array, toAt: number): void
}

const counterForm: CompactForm = {
  algorithm: compactCounter,
  fits: isCompact,
  takes: fitsCompactCounter,
  widen,
}

/** The short form for a table that has met one policy, if there is one. */
export function compactFormOf(policy: Policy): CompactForm | undefined {
  if (isCompact(policy)) return counterForm
  return policy.token > 0 ? bucketForm(policy) : undefined
}

/** Buckets of one rate need not tell it in each of their states. */
function bucketForm({ token, leak }: Policy): CompactForm {
  const cellCount = 3
  return {
    algorithm: bucketOfOneRate,
    fits: (policy) => policy.token === token && policy.leak === leak,
    takes: () => true,
    widen(cells, at, to, toAt) {
      for (let i = 0; i < cellCount; i++) to[toAt + i] = cells[at + i] as number
      to[toAt + cellCount] = leak
    },
  }
}
