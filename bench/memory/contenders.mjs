// All contenders, each measured by its fastest call that returns a decision.

/**
 * @typedef {object} Contender
 * @property {string} name
 * @property {"sluice" | "peer" | "baseline"} kind
 * @property {string} call     what is called, as shown in the docs
 * @property {string} returns  what the caller gets
 * @property {readonly string[]} [cases]  measured only in these
 * @property {boolean} [notLargeWhenQuick]  filling it takes long, and no goal depends on it
 * @property {(terms: Terms) => Promise<import("../harness/measure.mjs").Subject<any>>} open
 */

/**
 * The limit that a contender enforces.
 * @typedef {object} Terms
 * @property {number} limit     per window; for a token bucket the burst
 * @property {number} windowMs
 * @property {number} refill    what comes back to a token bucket per window
 * @property {number} keys      how many it will have to hold
 */

export const HOLDS = "sluice concurrency, acquire and release"

/** @type {readonly Contender[]} */
export const contenders = [
  sluice("token-bucket"),
  sluice("sliding-window-counter"),
  sluice("fixed-window"),
  sluiceAsync("token-bucket"),
  sluiceAsync("sliding-window-counter"),
  {
    name: HOLDS,
    kind: "sluice",
    call: "await acquire, await release; denied: await acquire",
    returns: "promises of a new Decision object with a hold, and of the release",
    cases: ["hot", "10k"],
    async open({ limit, windowMs }) {
      const { createLimiter } = await import("sluice")
      const limiter = createLimiter({ algorithm: "concurrency", limit, hold: windowMs })
      const acquireAndRelease = async (/** @type {string} */ key) => {
        const decision = await limiter.acquire(key)
        await decision.hold?.release()
        return decision
      }
      return {
        // A limit of 1 is used up by the first hold, which stays.
        check: limit === 1 ? (key) => limiter.acquire(key) : acquireAndRelease,
        isAllowed: (decision) => decision.allowed,
        awaited: true,
      }
    },
  },
  {
    name: "sluice token-bucket, own clock",
    kind: "sluice",
    call: "checkSync with `clock: { now: () => Date.now() }`: the same way through the store, but the time is read and validated on every check",
    returns: "a new Decision object",
    cases: ["hot"],
    async open(terms) {
      const limiter = await sluiceLimiter("token-bucket", terms, { now: () => Date.now() })
      return {
        check: (key) => limiter.checkSync(key),
        isAllowed: (decision) => decision.allowed,
        awaited: false,
      }
    },
  },
  {
    name: "sluice token-bucket, reserve and settle",
    kind: "sluice",
    call: "await reserve of 2 units, then await settle(1)",
    returns: "a promise of a new Decision object with a reservation, and one of whether it was settled",
    cases: ["hot", "10k"],
    async open(terms) {
      const limiter = await sluiceLimiter("token-bucket", terms)
      return {
        async check(key) {
          const decision = await limiter.reserve(key, { cost: 2 })
          await decision.reservation?.settle(1)
          return decision
        },
        isAllowed: (decision) => decision.allowed,
        awaited: true,
      }
    },
  },
  {
    name: "hono-rate-limiter",
    kind: "peer",
    call: "MemoryStore.increment",
    returns: "its own record: hits, reset date; the caller compares",
    async open({ limit, windowMs }) {
      const { MemoryStore } = await import("hono-rate-limiter")
      const store = new MemoryStore()
      store.init({ windowMs })
      return {
        check: (key) => store.increment(key),
        isAllowed: (client) => client.totalHits <= limit,
        awaited: false,
      }
    },
  },
  {
    name: "@fastify/rate-limit",
    kind: "peer",
    call: "LocalStore.incr, its cache made large enough for all keys (default 5,000)",
    returns: "its own record by callback: hits, time left; the caller compares",
    async open({ limit, windowMs, keys }) {
      const { default: LocalStore } = await import("@fastify/rate-limit/store/LocalStore.js")
      const store = new LocalStore(false, false, keys)
      let counted = { current: 0, ttl: 0 }
      const take = (/** @type {null} */ _error, /** @type {typeof counted} */ result) => {
        counted = result
      }
      return {
        check(key) {
          store.incr(key, take, windowMs, limit)
          return counted
        },
        isAllowed: (result) => result.current <= limit,
        awaited: false,
      }
    },
  },
  {
    name: "express-rate-limit",
    kind: "peer",
    notLargeWhenQuick: true,
    call: "await MemoryStore.increment",
    returns: "a promise of its own record: hits, reset date; the caller compares",
    async open({ limit, windowMs }) {
      const { MemoryStore } = await import("express-rate-limit")
      const store = new MemoryStore()
      store.init({ windowMs })
      return {
        check: (key) => store.increment(key),
        isAllowed: (client) => client.totalHits <= limit,
        awaited: true,
      }
    },
  },
  {
    name: "limiter",
    kind: "peer",
    notLargeWhenQuick: true,
    call: "a RateLimiter per key in a Map, tryRemoveTokens(1)",
    returns: "a boolean",
    async open({ limit, windowMs }) {
      const { RateLimiter } = await import("limiter")
      const options = { tokensPerInterval: limit, interval: windowMs, fireImmediately: true }
      /** @type {Map<string, InstanceType<typeof RateLimiter>>} */
      const limiters = new Map()
      return {
        check(key) {
          let limiter = limiters.get(key)
          if (limiter === undefined) {
            limiter = new RateLimiter(options)
            limiters.set(key, limiter)
          }
          return limiter.tryRemoveTokens(1)
        },
        isAllowed: (allowed) => allowed,
        awaited: false,
      }
    },
  },
  {
    name: "rate-limiter-flexible",
    kind: "peer",
    call: "await RateLimiterMemory.consume, with try and catch",
    returns: "a promise of a new result object; a denial is a rejection",
    async open({ limit, windowMs }) {
      const { RateLimiterMemory } = await import("rate-limiter-flexible")
      const limiter = new RateLimiterMemory({ points: limit, duration: windowMs / 1000 })
      return {
        check: (key) => limiter.consume(key),
        isAllowed: () => true,
        awaited: true,
        deniesByRejecting: true,
      }
    },
  },
  {
    name: "no limiter",
    kind: "baseline",
    call: "the loop, and building the key where keys are built anew",
    returns: "the key",
    async open() {
      return { check: (key) => key, isAllowed: (key) => key.length > 0, awaited: false }
    },
  },
  {
    name: "Date.now()",
    kind: "baseline",
    call: "one reading of the clock per call",
    returns: "a number",
    cases: ["hot"],
    async open() {
      return { check: () => Date.now(), isAllowed: (now) => now > 0, awaited: false }
    },
  },
]

/** Whose versions the figures depend on. */
export const packages = [
  "sluice",
  "hono-rate-limiter",
  "@fastify/rate-limit",
  "express-rate-limit",
  "limiter",
  "rate-limiter-flexible",
]

/** @param {string} name */
export function contenderNamed(name) {
  const found = contenders.find((contender) => contender.name === name)
  if (found === undefined) throw new Error(`no contender is called "${name}"`)
  return found
}

/**
 * @param {import("sluice").AlgorithmName} algorithm
 * @returns {Contender}
 */
function sluice(algorithm) {
  return {
    name: `sluice ${algorithm}`,
    kind: "sluice",
    call: "checkSync",
    returns: "a new Decision object",
    async open(terms) {
      const limiter = await sluiceLimiter(algorithm, terms)
      return {
        check: (key) => limiter.checkSync(key),
        isAllowed: (decision) => decision.allowed,
        awaited: false,
      }
    },
  }
}

/**
 * @param {import("sluice").AlgorithmName} algorithm
 * @returns {Contender}
 */
function sluiceAsync(algorithm) {
  return {
    name: `sluice ${algorithm}, async`,
    kind: "sluice",
    call: "await check",
    returns: "a promise of a new Decision object",
    cases: ["hot", "10k", "1m"],
    async open(terms) {
      const limiter = await sluiceLimiter(algorithm, terms)
      return { check: (key) => limiter.check(key), isAllowed: (decision) => decision.allowed, awaited: true }
    },
  }
}

/**
 * @param {import("sluice").AlgorithmName} algorithm
 * @param {Terms} terms
 * @param {import("sluice").Clock} [clock]
 */
async function sluiceLimiter(algorithm, { limit, windowMs, refill }, clock) {
  const { createLimiter } = await import("sluice")
  const numbers = algorithm === "token-bucket" ? { limit: refill, burst: limit } : { limit }
  return createLimiter({ algorithm, ...numbers, window: windowMs, ...(clock && { clock }) })
}
