// This is a subpath of its own, sluice/fastify-rate-limit, because @fastify/rate-limit and sluice/fastify both declare the type
// of a route's `config.rateLimit`, and a program can have only one of them.

import { SluiceError } from "../../errors.js"
import { isError } from "../../notify.js"
import { checkFields } from "../../options.js"
import {
  COUNTER_FIELDS,
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
  checkFields(options, COUNTER_FIELDS, "fastifyRateLimitStore")
  checkCounterOptions(options, "fastifyRateLimitStore")
  const counter = new WindowCounter({ ...options, prefix: options.prefix ?? "sluice-frl" })

  return class SluiceStore implements FastifyRateLimitStore {
    readonly #route: string

    constructor(settings: object, route = "") {
      refuseMovingWindows(settings)
      this.#route = route
    }

    incr(key: string, callback: Callback, timeWindow: number): void {
      answer(counter.increment(this.#route + key, timeWindow), callback)
    }

    /** For `{ increment: false }`. */
    read(key: string, callback: Callback, timeWindow: number): void {
      answer(counter.read(this.#route + key, timeWindow), callback)
    }

    child(settings: object): SluiceStore {
      const { routeInfo } = settings as { routeInfo?: { method?: unknown; url?: unknown } }
      // The length comes first, so that no client's key can look like another route.
      const route = `${String(routeInfo?.method ?? "")} ${String(routeInfo?.url ?? "")}`
      return new SluiceStore(settings, `${route.length}:${route}:`)
    }
  }
}

function answer(counted: Promise<WindowCount>, callback: Callback): void {
  counted.then(
    ({ count, resetAfterMs }) => callback(null, { current: count, ttl: resetAfterMs }),
    (error: unknown) => callback(isError(error) ? error : new Error(String(error))),
  )
}

/** With these options a denied request extends the window, which is not supported. */
function refuseMovingWindows(settings: object): void {
  for (const name of ["continueExceeding", "exponentialBackoff"] as const) {
    if ((settings as Record<string, unknown>)[name] !== true) continue
    throw new SluiceError("OPTION_CONFLICT", {
      place: name,
      expected: "is not supported by fastifyRateLimitStore: denied requests do not extend its windows",
    })
  }
}
