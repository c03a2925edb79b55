export type { BreakerState } from "../resilience/breaker.js"
export { type FailureKind, StoreFailure } from "../resilience/store-failure.js"
export type { StoreFailureEvent, StoreGuardStats } from "../resilience/store-guard.js"
export {
  type ShardedNode,
  type ShardedStore,
  type ShardedStoreOptions,
  shardedStore,
} from "../stores/sharded.js"
export type { UserClient } from "./client.js"
export { connectRedis, openRedisClient } from "./connect.js"
export { type RedisStore, type RedisStoreOptions, redisStore } from "./redis-store.js"
export { redactUrl } from "./url.js"
