import type { Clock } from "sluice"
import { type Ejection, FitTarget } from "./fit-target.js"
import { openPool } from "./pool.js"

/** A target that nobody connects to. */
export function idleTarget(name: string, ejection: Ejection = { failures: 2, forMs: 10_000 }, clock?: Clock) {
  const origin = `http://${name}:3000`
  return new FitTarget(origin, openPool(origin), ejection, clock)
}
