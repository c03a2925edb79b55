// The contenders: the same limit on the same server, with and without leases.

import { Redis } from "ioredis"
import { RateLimiterRedis } from "rate-limiter-flexible"
import { createLimiter } from "sluice"
import { redisStore } from "sluice/redis"

/**
 * @typedef {object} Subject
 * @property {(key: string) => any} check  a decision, or a promise of one
 * @property {(decision: any) => boolean} isAllowed
 * @property {boolean} [deniesByRejecting]
 * @property {() => import("sluice").LeaseStats | undefined} leases
 * @property {() => Promise<void>} close
 */

/** @typedef {"allowed" | "denied"} Answer */

/** Never used up by a benchmark, and used up by its first check. Both lease for 100 ms. */
const LIMITS = {
  allowed: { algorithm: "token-bucket", limit: 600_000_000, window: "1m" },
  denied: { algorithm: "fixed-window", limit: 100, window: "1d" },
}

export const contenders = [
  { name: "plain", call: "`await limiter.check(key)`" },
  { name: "leases", call: "`await limiter.check(key)` with `leases: true`" },
  {
    name: "leases, checkEither",
    call: "`limiter.checkEither(key)` with `leases: true`; awaited only if it is a promise",
  },
  {
    name: "async function",
    call: "`await nothing(key)` of `async () => decision`: no limiter can be faster",
  },
  { name: "memory", call: "`limiter.checkSync(key)` with the memory store" },
  { name: "rate-limiter-flexible", call: "`await limiter.consume(key)` with `inMemoryBlockOnConsumed`" },
]
export const contenderNames = contenders.map(({ name }) => name)

/**
 * @param {string} name
 * @param {number} port
 * @param {object} limit
 * @returns {Subject}
 */
export function openLimiter(name, port, limit) {
  if (name === "memory") {
    const limiter = createLimiter(/** @type {any} */ ({ ...limit, leases: true }))
    return { ...ofLimiter(limiter), check: (key) => limiter.checkSync(key) }
  }
  const client = new Redis({ port, host: "127.0.0.1" })
  const store = redisStore(client, { deadline: "2s" })
  const leases = name.startsWith("leases")
  const limiter = createLimiter(/** @type {any} */ ({ name: "bench", leases, store, ...limit }))
  const subject = ofLimiter(limiter)
  return {
    ...subject,
    check: name === "leases, checkEither" ? (key) => limiter.checkEither(key) : (key) => limiter.check(key),
    async close() {
      await limiter.close()
      await store.close()
      client.disconnect()
    },
  }
}

/** @param {import("sluice").Limiter} limiter */
function ofLimiter(limiter) {
  return {
    check: limiter.check,
    isAllowed: (/** @type {any} */ decision) => decision.allowed,
    leases: () => limiter.leases,
    close: () => limiter.close(),
  }
}

/**
 * @param {string} name
 * @param {number} port
 * @param {Answer} answer
 * @returns {Subject}
 */
export function openSubject(name, port, answer) {
  if (name === "async function") return nothing(answer)
  if (name !== "rate-limiter-flexible") return openLimiter(name, port, LIMITS[answer])
  const client = new Redis({ port, host: "127.0.0.1" })
  const { limit } = LIMITS[answer]
  const limiter = new RateLimiterRedis({
    storeClient: client,
    keyPrefix: `rlf:${answer}`,
    points: limit,
    duration: answer === "allowed" ? 60 : 86_400,
    inMemoryBlockOnConsumed: limit,
  })
  return {
    check: (key) => limiter.consume(key),
    isAllowed: () => true,
    deniesByRejecting: true,
    leases: () => undefined,
    close: async () => client.disconnect(),
  }
}

/**
 * What promises alone cost.
 * @param {Answer} answer
 * @returns {Subject}
 */
function nothing(answer) {
  const decision = { allowed: answer === "allowed" }
  return {
    check: async () => decision,
    isAllowed: ({ allowed }) => allowed,
    leases: () => undefined,
    close: async () => {},
  }
}
