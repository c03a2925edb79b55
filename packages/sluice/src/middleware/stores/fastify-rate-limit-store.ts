// A subpath of its own, sluice/fastify-rate-limit: @fastify/rate-limit and sluice/fastify each declare what
// `config.rateLimit` of a route is, and one program can have only one of the two.

import { SluiceError } from "../../errors.js"
import { checkFields } from "../../options.js"
import { checkTallyOptions, TALLY_FIELDS, type Tally, TallyCounter, type TallyOptions } from "./tally.js"

export type FastifyRateLimitStoreOptions = TallyOptions

type Callback = (error: Error | null, result?: { current: number; ttl: number }) => void

/** The store of @fastify/rate-limit, in its own words; a user of this file need not have it installed. */
export interface FastifyRateLimitStore {
  incr(key: string, callback: Callback, timeWindow: number, max: number): void
  read(key: string, callback: Callback, timeWindow: number, max: number): void
  child(settings: object): FastifyRateLimitStore
}

export type FastifyRateLimitStoreClass = new (settings: object) => FastifyRateLimitStore

/**
 * A store for applications that stay with @fastify/rate-limit:
 * `fastify.register(rateLimit, { store: fastifyRateLimitStore({ store }) })`. Routes with limits of their own are counted
 * by themselves.
 */
export function fastifyRateLimitStore(
  options: FastifyRateLimitStoreOptions = {},
): FastifyRateLimitStoreClass {
  checkFields(options, TALLY_FIELDS, "fastifyRateLimitStore")
  checkTallyOptions(options, "fastifyRateLimitStore")
  const counter = new TallyCounter({ ...options, prefix: options.prefix ?? "sluice-frl" })

  return class SluiceStore implements FastifyRateLimitStore {
    readonly #route: string

    constructor(settings: object, route = "") {
      refuseMoving(settings)
      this.#route = route
    }

    incr(key: string, callback: Callback, timeWindow: number): void {
      answer(counter.add(this.#route + key, timeWindow), callback)
    }

    /** For `{ increment: false }`. */
    read(key: string, callback: Callback, timeWindow: number): void {
      answer(counter.look(this.#route + key, timeWindow), callback)
    }

    child(settings: object): SluiceStore {
      const { routeInfo } = settings as { routeInfo?: { method?: unknown; url?: unknown } }
      // Length first: no key of a client's can look like another route.
      const route = `${String(routeInfo?.method ?? "")} ${String(routeInfo?.url ?? "")}`
      return new SluiceStore(settings, `${route.length}:${route}:`)
    }
  }
}

function answer(tally: Promise<Tally>, callback: Callback): void {
  tally.then(
    ({ count, resetAfterMs }) => callback(null, { current: count, ttl: resetAfterMs }),
    (error: unknown) => callback(error instanceof Error ? error : new Error(String(error))),
  )
}

/** Windows that a denied request makes longer are not what a window is here. */
function refuseMoving(settings: object): void {
  for (const name of ["continueExceeding", "exponentialBackoff"] as const) {
    if ((settings as Record<string, unknown>)[name] !== true) continue
    throw new SluiceError("OPTION_CONFLICT", {
      place: name,
      expected: "is not known to fastifyRateLimitStore, whose windows end when they end",
    })
  }
}
