// Limits of an application and of its routes, for frameworks where a route has options of its own.

import type { Clock } from "../../clock.js"
import { relocate, SluiceError } from "../../errors.js"
import { checkFields, checkObject } from "../../options.js"
import { LIMIT_FIELDS, type LimitOptions } from "../../policy.js"
import { type MemoryStore, memoryStore } from "../../stores/memory/memory-store.js"
import type { Store } from "../../stores/store.js"
import { type AnyRateLimitOptions, RATE_LIMIT_FIELDS } from "./rate-limit-options.js"

/** The options of a route. It inherits the others from the application. */
export type RouteLimitOptions<Request> = AnyRateLimitOptions<Request> &
  Partial<Omit<LimitOptions, "limit">> & {
    limits?: readonly LimitOptions[]
    store?: Store
    prefix?: string
  }

type Fields = Readonly<Record<string, unknown>>

/** A route that gives one of these inherits none of them: a burst for one limit is wrong for another. */
const LIMIT = [...LIMIT_FIELDS, "limits", "limiter", "engine", "tier"]
const STORE = ["store", "clock", "prefix", "leases"]
const KEY = ["key", "keyBy", "onMissingKey", "ipv6Subnet"]

/** Makes the limiter of the application and those of its routes, each once, from their merged options. */
export class RouteLimits<Made> {
  readonly #general: Fields
  readonly #adapterFields: readonly string[]
  readonly #make: (options: never) => Made
  #made: Made | undefined
  #memory: MemoryStore | undefined
  readonly #own = new Map<string, { readonly options: object; readonly made: Made }>()

  /** `make` receives merged options, which are not checked yet. */
  constructor(general: object, adapterFields: readonly string[], make: (options: never) => Made) {
    checkObject(general, "rateLimit")
    this.#general = general as Fields
    this.#adapterFields = adapterFields
    this.#make = make
  }

  /** Checks the names of the application's options if no route uses them alone; `general` checks all of them. */
  checkNames(): void {
    checkFields(this.#general, [...RATE_LIMIT_FIELDS, ...this.#adapterFields], "rateLimit")
  }

  /** For routes without options. */
  get general(): Made {
    this.#made ??= this.#makeFrom(this.#general)
    return this.#made
  }

  /** For a route with options. `route` must be the same in every process: the counters of a limit are named by it. */
  own(options: object, route: string): Made {
    const known = this.#own.get(route)
    if (known?.options === options) return known.made
    try {
      const made = this.#makeFrom(joinOptions(this.#general, options as Fields, route))
      this.#own.set(route, { options, made })
      return made
    } catch (error) {
      throw error instanceof SluiceError ? relocate(error, (place) => `${place} of ${route}`) : error
    }
  }

  async close(): Promise<void> {
    await this.#memory?.close()
  }

  /** The routes of an application share one memory store as they would share a Redis, so that both count alike. */
  #makeFrom(options: Fields): Made {
    const isStored = ["store", "limiter", "engine"].some((field) => options[field] !== undefined)
    if (isStored) return this.#make(options as never)
    const clock = options.clock as Clock | undefined
    this.#memory ??= memoryStore(clock === undefined ? {} : { clock })
    return this.#make({ ...options, store: this.#memory } as never)
  }
}

/** Merges a route's options with the application's, without those of the application that the route replaces. */
export function joinOptions(general: Fields, own: Fields, route: string): Fields {
  const has = (fields: readonly string[]): boolean => fields.some((field) => own[field] !== undefined)
  const dropped = new Set<string>()
  const drop = (fields: readonly string[]): void => fields.forEach((field) => void dropped.add(field))
  const hasLimit = has([...LIMIT_FIELDS, "limits"])
  if (hasLimit || has(["limiter", "engine"])) drop(LIMIT)
  if (has(["limiter", "engine"])) drop(STORE)
  if (has(["engine"])) drop([...KEY, "onStoreFailure"])
  if (has(["key", "keyBy"])) drop(["key", "keyBy"])
  if (has(["trustProxy"])) drop(["proxyHeader"])
  const inherited = Object.fromEntries(Object.entries(general).filter(([field]) => !dropped.has(field)))
  const joined = { ...inherited, ...own }
  // Two routes with a limit per minute each have two limits. Without a prefix both would use the same counters.
  if (!hasLimit || own.prefix !== undefined) return joined
  return { ...joined, prefix: `${general.prefix ?? "sluice"}:${route}` }
}
