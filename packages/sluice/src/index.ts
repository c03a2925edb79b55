/**
 * Sluice limits how often something may happen: requests of a client, log-ins of a user, calls to an API.
 *
 * A limiter has one limit or several, and counts per key. `check` decides about one request and charges it if it is allowed; a
 * denied request is charged nothing. A denial is a value with the exact wait in it, not an error.
 *
 * ```ts
 * import { createLimiter } from "sluice"
 *
 * const limiter = createLimiter({ limit: 100, window: "1m" })
 *
 * const decision = await limiter.check("user:42")
 * if (!decision.allowed) console.log(`try again in ${decision.retryAfterMs} ms`)
 * ```
 *
 * Counters are kept in the memory of this process unless the limiter gets another store: `redisStore` of `sluice/redis` lets a
 * fleet share them. `sluice/rules` decides by rules in YAML, `sluice/express` and its siblings are middlewares, `sluice/http`
 * reads addresses and paths and writes headers, and `sluice/testing` has a clock for tests and the contract of a store.
 */

export type { AlgorithmName } from "./algorithms/algorithm.js"
export type { CheckOptions, CheckRequest } from "./call-options.js"
export { type Clock, systemClock } from "./clock.js"
export type { BegunBlock, Decision, DecisionSource, LimitDecision } from "./decision.js"
export { type Duration, parseDuration } from "./duration.js"
export { type ErrorCode, type ErrorCodes, errorCodes, SluiceError } from "./errors.js"
export type { LeaseOptions } from "./lease-options.js"
export type { AcquiredDecision, AcquireOptions, Hold } from "./limiter/holds.js"
export {
  createLimiter,
  type Limiter,
  type LimitPolicy,
} from "./limiter/limiter.js"
export type { LimiterOptions } from "./limiter/limiter-options.js"
export type { Reservation, ReservedDecision, ReserveOptions } from "./limiter/reservations.js"
export type { WaitOptions } from "./limiter/wait-queue.js"
export type { LimitOptions } from "./policy.js"
export type { LeaseStats } from "./stores/leases/lease-stats.js"
export type { MemoryStoreOptions, MemoryStoreStats } from "./stores/memory/memory-options.js"
export {
  type MemoryStore,
  memoryStore,
} from "./stores/memory/memory-store.js"
export { fileSnapshot, type Snapshot } from "./stores/memory/snapshot.js"
export type {
  BlockedKey,
  BlockedKeys,
  Charge,
  Check,
  Degraded,
  Namespace,
  Outcome,
  Overdraft,
  Settled,
  Settlement,
  SingleVerdict,
  Store,
  SyncStore,
} from "./stores/store.js"
