export type { BreakerState } from "../fallback/breaker.js"
export { type FailureKind, StoreFailure } from "../fallback/store-failure.js"
export type { StoreFailureEvent, StoreGuardStats } from "../fallback/store-guard.js"
export {
  type ShardedNode,
  type ShardedStore,
  type ShardedStoreOptions,
  shardedStore,
} from "../sharded/sharded-store.js"
export type { UserClient } from "./client.js"
export {
  type ConnectRedisOptions,
  connectRedis,
  openRedisClient,
  type RedisClientOptions,
} from "./connect.js"
export { type BreakerSettings, type RedisStore, type RedisStoreOptions, redisStore } from "./redis-store.js"
export { redactUrl } from "./url.js"
