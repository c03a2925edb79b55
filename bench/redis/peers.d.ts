// The few calls of the peers that the benchmark makes. Declared here so that types are checked without installing them.

declare module "rate-limiter-flexible" {
  export class RateLimiterRedis {
    constructor(options: {
      storeClient: object
      points: number
      duration: number
      keyPrefix?: string
      inMemoryBlockOnConsumed?: number
    })
    consume(key: string): Promise<{ remainingPoints: number }>
  }
}

declare module "rate-limit-redis" {
  export class RedisStore {
    constructor(options: { sendCommand: (command: string, ...args: string[]) => Promise<unknown> })
    init(options: { windowMs: number }): Promise<void>
    increment(key: string): Promise<{ totalHits: number }>
  }
}

declare module "@fastify/rate-limit/store/RedisStore.js" {
  type Counted = { current: number; ttl: number }
  class RedisStore {
    constructor(continueExceeding: boolean, exponentialBackoff: boolean, redis: object)
    incr(
      key: string,
      callback: (error: Error | null, counted: Counted) => void,
      windowMs: number,
      max: number,
    ): void
  }

  export = RedisStore
}

declare module "@upstash/ratelimit" {
  export class Ratelimit {
    constructor(options: {
      redis: object
      limiter: object
      timeout: number
      ephemeralCache: false
      analytics: false
    })
    limit(key: string): Promise<{ success: boolean }>
    static slidingWindow(tokens: number, window: string): object
    static tokenBucket(refillRate: number, interval: string, maxTokens: number): object
  }
}
