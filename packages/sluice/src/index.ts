export type { AlgorithmName } from "./algorithms/algorithm.js"
export { type Clock, systemClock } from "./clock.js"
export type { Decision, LimitDecision } from "./decision.js"
export { type Duration, parseDuration } from "./duration.js"
export { type ErrorCode, type ErrorCodes, errorCodes, SluiceError } from "./errors.js"
export {
  type CheckOptions,
  type CheckRequest,
  createLimiter,
  type Limiter,
  type LimitPolicy,
} from "./limiter.js"
export type { LimiterOptions } from "./limiter-options.js"
export type { LimitOptions } from "./policy.js"
export {
  type MemoryStore,
  type MemoryStoreOptions,
  type MemoryStoreStats,
  memoryStore,
} from "./stores/memory/memory-store.js"
export { fileSnapshot, type Snapshot } from "./stores/memory/snapshot.js"
export type {
  Charge,
  Check,
  Degraded,
  Namespace,
  Outcome,
  SingleVerdict,
  Store,
  SyncStore,
} from "./stores/store.js"
export type { WaitOptions } from "./wait-queue.js"
