import type { Clock } from "sluice"
import { Pool } from "./pool.js"
import { type Ejection, MonitoredTarget } from "./target.js"

/** A target that nobody connects to. */
export function idleTarget(name: string, ejection: Ejection = { failures: 2, forMs: 10_000 }, clock?: Clock) {
  const origin = `http://${name}:3000`
  return new MonitoredTarget(origin, new Pool(origin), ejection, clock)
}
