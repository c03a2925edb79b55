// The few calls of the peers that the benchmark makes. Declared here so that types are checked without installing them.

declare module "express-rate-limit" {
  export function rateLimit(options: { limit: number; windowMs: number }): import("express").RequestHandler
}

declare module "hono-rate-limiter" {
  export function rateLimiter(options: {
    limit: number
    windowMs: number
    keyGenerator: (context: { env: { incoming: { socket: { remoteAddress: string } } } }) => string
  }): unknown
}
