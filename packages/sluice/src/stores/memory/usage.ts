// What a state says about the usage of its key. The stores load this file when somebody asks: no check needs it.

import type { Policy } from "../../algorithms/algorithm.js"
import { newVerdict } from "../../algorithms/algorithm.js"
import type { Usage } from "../store.js"
import { compactCounter, widen } from "./compact-counter.js"
import type { Table } from "./table.js"

/** The usage of the key that `table` has found last. Without a table, the key is new. */
export function usageIn(table: Table | undefined, policy: Policy, now: number): Usage {
  const { algorithm } = policy
  const state = new Float64Array(algorithm.cells(policy))
  if (table === undefined) return usageOfState(policy, state, now)
  const { cells, at } = table
  if (algorithm.name === "concurrency") return { used: algorithm.used(policy, cells, at, now) }
  if (algorithm.name === "sliding-window-log") return usageOfLogAt(policy, cells, at, now)
  // Only the states of counters and blocks are read bucket by bucket.
  if (!["fixed-window", "sliding-window-counter", "block"].includes(algorithm.name))
    return { used: table.algorithm.used(policy, cells, at, now) }
  if (table.algorithm === compactCounter) widen(cells, at, state, 0)
  else state.set(cells.subarray(at, at + state.length))
  return usageOfState(policy, state, now)
}

/** Finds the times through decisions, which only read a log. */
function usageOfLogAt(policy: Policy, cells: Float64Array, at: number, now: number): Usage {
  const { algorithm, window } = policy
  const used = algorithm.used(policy, cells, at, now)
  const verdict = newVerdict()
  algorithm.decide(policy, cells, at, 0, now, verdict)
  const newest = now + verdict.resetAfter - window
  algorithm.decide(fullAt(policy, used), cells, at, 1, now, verdict)
  return usageOfLog(used, now + verdict.retryAfter - window, newest)
}

/** Reads a state in the full form of its algorithm. Settles it, so pass a copy. Logs have `usageOfLog`. */
export function usageOfState(policy: Policy, state: Float64Array, now: number): Usage {
  const { algorithm } = policy
  algorithm.charge(policy, state, 0, 0, now)
  const used = algorithm.used(policy, state, 0, now)
  const [start = 0, length = 0, ...counts] = state
  if (algorithm.name === "block") {
    const [, denials = 0, blocks = 0] = counts
    const times = start > now ? { since: start - length, until: start } : {}
    return { used, block: { ...times, denials, blocks } }
  }
  if (algorithm.name !== "fixed-window" && algorithm.name !== "sliding-window-counter") return { used }
  const buckets = counts.map((units, i) => ({ start: start - i * length, length, units }))
  return { used, buckets: buckets.filter(({ units }) => units > 0) }
}

export function usageOfLog(used: number, oldest: number, newest: number): Usage {
  return used === 0 ? { used } : { used, oldest, newest }
}

/** A policy under which exactly the oldest unit must leave a log of `used` units before one more fits. */
export function fullAt(policy: Policy, used: number): Policy {
  return { ...policy, limit: used, capacity: used }
}
