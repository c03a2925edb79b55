// This is a subpath of its own, sluice/fastify-rate-limit, because @fastify/rate-limit and sluice/fastify both declare the type
// of a route's `config.rateLimit`, and a program can have only one of them.

import { isError } from "../../notify.js"
import {
  type CounterOptions,
  checkCounterOptions,
  type WindowCount,
  WindowCounter,
} from "./window-counter.js"

export type FastifyRateLimitStoreOptions = CounterOptions

type Callback = (error: Error | null, result?: { current: number; ttl: number }) => void

/** The store of @fastify/rate-limit, declared here so that the package need not be installed. */
export interface FastifyRateLimitStore {
  incr(key: string, callback: Callback, timeWindow: number, max: number): void
  read(key: string, callback: Callback, timeWindow: number, max: number): void
  child(settings: object): FastifyRateLimitStore
}

export type FastifyRateLimitStoreClass = new (settings: object) => FastifyRateLimitStore

/**
 * A store for @fastify/rate-limit: `fastify.register(rateLimit, { store: fastifyRateLimitStore({ store }) })`. Routes with
 * their own limits have their own counters.
 */
export function fastifyRateLimitStore(
  options: FastifyRateLimitStoreOptions = {},
): FastifyRateLimitStoreClass {
  checkCounterOptions(options, "fastifyRateLimitStore")
  const prefix = options.prefix ?? "sluice-frl"
  const counter = new WindowCounter({ ...options, prefix })
  const violations = new WindowCounter({ ...options, prefix: `${prefix}-violations` })

  return class SluiceStore implements FastifyRateLimitStore {
    readonly #route: string
    readonly #exceeding: Exceeding

    constructor(settings: object, route = "") {
      const { timeWindow, continueExceeding, exponentialBackoff } = settings as Settings
      if (typeof timeWindow === "number") counter.checkWindow(timeWindow, "rateLimit.timeWindow")
      this.#route = route
      this.#exceeding = continueExceeding ? "restart" : exponentialBackoff ? "double" : "count"
    }

    incr(key: string, callback: Callback, timeWindow: number, max: number): void {
      answer(this.#increment(this.#route + key, timeWindow, max), callback)
    }

    /** For `{ increment: false }`. */
    read(key: string, callback: Callback, timeWindow: number, max: number): void {
      answer(this.#read(this.#route + key, timeWindow, max), callback)
    }

    child(settings: object): SluiceStore {
      const { routeInfo } = settings as { routeInfo?: { method?: unknown; url?: unknown } }
      // The length comes first, so that no client's key can look like another route.
      const route = `${String(routeInfo?.method ?? "")} ${String(routeInfo?.url ?? "")}`
      return new SluiceStore(settings, `${route.length}:${route}:`)
    }

    /** A request above `max` blocks its key if the options say so. Later ones are counted as violations until the block ends. */
    async #increment(key: string, timeWindow: number, max: number): Promise<Counted> {
      const counted = await counter.increment(key, timeWindow)
      if (this.#exceeding === "count" || (!counted.isBlocked && counted.count <= max)) return counted
      if (!counted.isBlocked) await violations.reset(key, MAX_BLOCK_MS)
      const { count } = await violations.increment(key, MAX_BLOCK_MS)
      const factor = this.#exceeding === "double" ? 2 ** (count - 1) : 1
      const resetAfterMs = Math.min(timeWindow * factor, Math.max(timeWindow, MAX_BLOCK_MS))
      await counter.block(key, timeWindow, resetAfterMs)
      return { count: max + count, resetAfterMs }
    }

    async #read(key: string, timeWindow: number, max: number): Promise<Counted> {
      const counted = await counter.read(key, timeWindow)
      if (!counted.isBlocked) return counted
      const { count } = await violations.read(key, MAX_BLOCK_MS)
      return { count: max + count, resetAfterMs: counted.resetAfterMs }
    }
  }
}

/** A block that doubles with each violation ends after a day, and violations are counted for as long. */
const MAX_BLOCK_MS = 86_400_000

/** What a request above the limit does: it only counts, restarts the window, or doubles the wait. */
type Exceeding = "count" | "restart" | "double"

interface Settings {
  readonly timeWindow?: unknown
  readonly continueExceeding?: boolean
  readonly exponentialBackoff?: boolean
}

type Counted = Pick<WindowCount, "count" | "resetAfterMs">

function answer(counted: Promise<Counted>, callback: Callback): void {
  counted.then(
    ({ count, resetAfterMs }) => callback(null, { current: count, ttl: Math.ceil(resetAfterMs) }),
    (error: unknown) => callback(isError(error) ? error : new Error(String(error))),
  )
}
