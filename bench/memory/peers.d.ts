// The few calls of the peers that the benchmark makes. Declared here so that types are checked without installing them.

declare module "rate-limiter-flexible" {
  export class RateLimiterMemory {
    constructor(options: { points: number; duration: number })
    consume(key: string): Promise<{ remainingPoints: number }>
  }
}

declare module "express-rate-limit" {
  export class MemoryStore {
    init(options: { windowMs: number }): void
    increment(key: string): Promise<{ totalHits: number }>
  }
}

declare module "hono-rate-limiter" {
  export class MemoryStore {
    init(options: { windowMs: number }): void
    increment(key: string): { totalHits: number }
  }
}

declare module "@fastify/rate-limit/store/LocalStore.js" {
  type Counted = { current: number; ttl: number }
  class LocalStore {
    constructor(continueExceeding: boolean, exponentialBackoff: boolean, cache: number)
    incr(key: string, callback: (error: null, counted: Counted) => void, windowMs: number, max: number): void
  }

  export = LocalStore
}

declare module "limiter" {
  export class RateLimiter {
    constructor(options: { tokensPerInterval: number; interval: number; fireImmediately: boolean })
    tryRemoveTokens(count: number): boolean
  }
}
