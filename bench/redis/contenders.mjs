// The contenders, each called as a server would call it, with its own client.

import { onUpstash } from "./upstash-client.mjs"

/**
 * @typedef {object} Contender
 * @property {string} name
 * @property {"sluice" | "peer" | "baseline"} kind
 * @property {string} call   what is called, as shown in the docs
 * @property {string} state  what is kept of a key in Redis
 * @property {boolean} [isBucket]  keeps a token bucket: as much as the promised row has to
 * @property {string} [command]  the one its checks are sent by, or several: `evalsha|zrem`. Default: `evalsha`
 * @property {readonly string[]} [cases]  timed only in these
 * @property {boolean} [isVariant]  keeps the same in Redis as the row it varies, or nothing
 * @property {boolean} [notWhenQuick]  no goal depends on it
 * @property {(terms: Terms, server: Address) => Promise<import("./load.mjs").Subject<any>>} open
 */

/**
 * The limit that a contender enforces.
 * @typedef {object} Terms
 * @property {number} limit     per window; for a token bucket the burst
 * @property {number} windowMs
 * @property {number} refill    what comes back to a token bucket per window
 */

/** @typedef {{ port: number, database: number }} Address */

export const PROMISED = "sluice token-bucket"
export const HOLDS = "sluice concurrency, acquire and release"

export const RESERVING = "sluice token-bucket, reserve and settle"

const BUCKET = "debt, time and unit: an exact token bucket"

/** @type {readonly Contender[]} */
export const contenders = [
  {
    ...sluice("token-bucket", BUCKET),
    name: PROMISED,
    isBucket: true,
  },
  { ...sluice("sliding-window-counter", "window start, length and two counts"), notWhenQuick: true },
  { ...sluice("fixed-window", "window start, length and count"), notWhenQuick: true },
  {
    name: "sluice token-bucket, 2 connections",
    kind: "sluice",
    call: "check of two limiters, each with a store and an ioredis client of its own, split by key",
    state: BUCKET,
    cases: ["many-1", "many-64", "many-512", "denied"],
    isVariant: true,
    async open(terms, server) {
      const limiters = [
        await sluiceLimiter("token-bucket", terms, await openIoredis(server)),
        await sluiceLimiter("token-bucket", terms, await openIoredis(server)),
      ]
      return {
        check: (key) => limiters[key.charCodeAt(key.length - 1) & 1].check(key),
        isAllowed: isAllowedByStore,
      }
    },
  },
  {
    name: RESERVING,
    kind: "sluice",
    call: "reserve of 2 units, then settle(1)",
    state: BUCKET,
    cases: ["many-1", "many-64", "many-512"],
    isVariant: true,
    async open(terms, server) {
      const limiter = await sluiceLimiter("token-bucket", terms, await openIoredis(server))
      return {
        async check(key) {
          const decision = await limiter.reserve(key, { cost: 2 })
          if (!(await decision.reservation?.settle(1))) throw new Error("not settled")
          return decision
        },
        isAllowed: isAllowedByStore,
      }
    },
  },
  {
    name: "sluice token-bucket, node-redis",
    kind: "sluice",
    call: "check, the store on a client of node-redis",
    state: BUCKET,
    isVariant: true,
    notWhenQuick: true,
    async open(terms, { port, database }) {
      const { createClient } = await import("redis")
      const client = createClient({ socket: { host: "127.0.0.1", port }, database })
      await client.connect()
      const limiter = await sluiceLimiter("token-bucket", terms, client)
      return { check: (key) => limiter.check(key), isAllowed: isAllowedByStore }
    },
  },
  {
    name: HOLDS,
    kind: "sluice",
    call: "acquire, then release",
    state: "a sorted set of holds, gone after the release",
    cases: ["many-1", "many-64", "many-512"],
    command: "evalsha|zrem",
    isVariant: true,
    async open({ limit, windowMs }, server) {
      const limiter = await sluiceLimiter(
        "concurrency",
        { limit, windowMs, refill: 0 },
        await openIoredis(server),
      )
      return {
        async check(key) {
          const decision = await limiter.acquire(key)
          await decision.hold?.release()
          return decision
        },
        isAllowed: isAllowedByStore,
      }
    },
  },
  {
    name: "rate-limiter-flexible",
    kind: "peer",
    call: "RateLimiterRedis.consume, with try and catch",
    state: "one count, fixed window",
    async open({ limit, windowMs }, server) {
      const { RateLimiterRedis } = await import("rate-limiter-flexible")
      const storeClient = await openIoredis(server)
      const limiter = new RateLimiterRedis({ storeClient, points: limit, duration: windowMs / 1000 })
      return { check: (key) => limiter.consume(key), isAllowed: () => true, deniesByRejecting: true }
    },
  },
  {
    name: "rate-limit-redis",
    kind: "peer",
    call: "RedisStore.increment, sendCommand being ioredis's call",
    state: "one count, fixed window",
    async open({ limit, windowMs }, server) {
      const { RedisStore } = await import("rate-limit-redis")
      const client = await openIoredis(server)
      const store = new RedisStore({ sendCommand: (command, ...args) => client.call(command, ...args) })
      await store.init({ windowMs })
      return { check: (key) => store.increment(key), isAllowed: ({ totalHits }) => totalHits <= limit }
    },
  },
  {
    name: "@fastify/rate-limit",
    kind: "peer",
    call: "RedisStore.incr in a promise, as the plugin calls it",
    state: "one count, fixed window",
    async open({ limit, windowMs }, server) {
      const { default: RedisStore } = await import("@fastify/rate-limit/store/RedisStore.js")
      const store = new RedisStore(false, false, await openIoredis(server))
      return {
        check: (key) =>
          new Promise((resolve, reject) => {
            store.incr(key, (error, result) => (error ? reject(error) : resolve(result)), windowMs, limit)
          }),
        isAllowed: ({ current }) => current <= limit,
      }
    },
  },
  {
    name: "@upstash/ratelimit slidingWindow",
    kind: "peer",
    call: "limit; its script through a small client on ioredis, its time-out, cache and analytics off",
    state: "one count a window; two windows live at a time",
    open: async ({ limit, windowMs }, server) => {
      const { Ratelimit } = await import("@upstash/ratelimit")
      return upstash(server, Ratelimit.slidingWindow(limit, `${windowMs} ms`))
    },
  },
  {
    name: "@upstash/ratelimit tokenBucket",
    kind: "peer",
    call: "as above",
    state: "a hash of time and tokens: a token bucket that refills in steps",
    isBucket: true,
    open: async ({ limit, windowMs, refill }, server) => {
      const { Ratelimit } = await import("@upstash/ratelimit")
      return upstash(server, Ratelimit.tokenBucket(refill, `${windowMs} ms`, limit))
    },
  },
  {
    name: "INCR",
    kind: "baseline",
    call: "ioredis's incr: no script, no limit, no expiry",
    command: "incr",
    state: "one count",
    cases: ["many-1", "many-64", "many-512", "one-1", "one-64", "one-512"],
    notWhenQuick: true,
    async open(_terms, server) {
      const client = await openIoredis(server)
      return { check: (key) => client.incr(key), isAllowed: () => true }
    },
  },
]

/** The packages whose versions the figures depend on. */
export const packages = [
  "sluice",
  "rate-limiter-flexible",
  "rate-limit-redis",
  "@fastify/rate-limit",
  "@upstash/ratelimit",
  "ioredis",
  "redis",
]

/** @param {string} name */
export function contenderNamed(name) {
  const found = contenders.find((contender) => contender.name === name)
  if (found === undefined) throw new Error(`no contender is called "${name}"`)
  return found
}

/** @param {Address} server */
export async function openIoredis({ port, database }) {
  const { Redis } = await import("ioredis")
  const client = new Redis({ host: "127.0.0.1", port, db: database, lazyConnect: true })
  await client.connect()
  return client
}

/**
 * @param {import("sluice").AlgorithmName} algorithm
 * @param {string} state
 * @returns {Contender}
 */
function sluice(algorithm, state) {
  return {
    name: `sluice ${algorithm}`,
    kind: "sluice",
    call: "check, the store on a client of ioredis",
    state,
    async open(terms, server) {
      const limiter = await sluiceLimiter(algorithm, terms, await openIoredis(server))
      return { check: (key) => limiter.check(key), isAllowed: isAllowedByStore }
    },
  }
}

/**
 * @param {import("sluice").AlgorithmName} algorithm
 * @param {Terms} terms
 * @param {object} client
 */
async function sluiceLimiter(algorithm, { limit, windowMs, refill }, client) {
  const { createLimiter } = await import("sluice")
  const { redisStore } = await import("sluice/redis")
  const numbers = algorithm === "token-bucket" ? { limit: refill, burst: limit } : { limit }
  // Peers wait as long as it takes; with the default of 50 ms a busy machine would measure decisions made without Redis.
  const store = redisStore(client, { deadline: "5s" })
  const length = algorithm === "concurrency" ? { hold: windowMs } : { window: windowMs }
  return createLimiter({ algorithm, ...numbers, ...length, store })
}

/** @param {import("sluice").Decision} decision */
function isAllowedByStore({ allowed, degraded }) {
  if (degraded !== undefined) throw new Error(`decided without Redis: ${degraded}`)
  return allowed
}

/**
 * @param {Address} server
 * @param {object} limiter
 * @returns {Promise<import("./load.mjs").Subject<{ success: boolean }>>}
 */
async function upstash(server, limiter) {
  const { Ratelimit } = await import("@upstash/ratelimit")
  const redis = onUpstash(await openIoredis(server))
  const ratelimit = new Ratelimit({ redis, limiter, timeout: 0, ephemeralCache: false, analytics: false })
  return { check: (key) => ratelimit.limit(key), isAllowed: ({ success }) => success }
}
