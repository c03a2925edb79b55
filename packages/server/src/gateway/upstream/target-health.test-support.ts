import type { Clock } from "sluice"
import { openPool } from "./pool.js"
import { type Ejection, MonitoredTarget } from "./target-health.js"

/** A target that nobody connects to. */
export function idleTarget(name: string, ejection: Ejection = { failures: 2, forMs: 10_000 }, clock?: Clock) {
  const origin = `http://${name}:3000`
  return new MonitoredTarget(origin, openPool(origin), ejection, clock)
}
