// Options for the whole application, and for single routes of it.

import type { Clock } from "../../clock.js"
import { SluiceError } from "../../errors.js"
import { checkFields } from "../../options.js"
import { LIMIT_FIELDS, type LimitOptions } from "../../policy.js"
import { type MemoryStore, memoryStore } from "../../stores/memory/memory-store.js"
import type { Store } from "../../stores/store.js"
import { type AnyRateLimitOptions, RATE_LIMIT_FIELDS } from "./rate-limit-options.js"

/** What a route may say for itself. What it does not say counts as for the whole application. */
export type RouteLimitOptions<Request> = AnyRateLimitOptions<Request> &
  Partial<LimitOptions> & {
    limits?: readonly LimitOptions[]
    store?: Store
    prefix?: string
  }

type Fields = Readonly<Record<string, unknown>>

/** A limit is one thing: whoever gives a part of it gives all of it. A burst for one limit is wrong for another. */
const LIMIT = [...LIMIT_FIELDS, "limits", "limiter", "engine", "tier"]
const STORE = ["store", "clock", "prefix"]
const KEY = ["key", "keyBy", "onMissingKey", "ipv6Subnet"]

/** What an application has of each: made once, from options that are whole. */
export class RouteLimits<Made> {
  readonly #general: Fields
  readonly #adapterFields: readonly string[]
  readonly #make: (options: never) => Made
  #made: Made | undefined
  #memory: MemoryStore | undefined
  readonly #own = new Map<string, { readonly options: object; readonly made: Made }>()

  /** `make` gets options that are put together, but not checked. */
  constructor(general: object, adapterFields: readonly string[], make: (options: never) => Made) {
    checkFields(general, [...RATE_LIMIT_FIELDS, ...adapterFields], "rateLimit")
    this.#general = general as Fields
    this.#adapterFields = adapterFields
    this.#make = make
  }

  /** For routes that say nothing. */
  get general(): Made {
    this.#made ??= this.#makeFrom(this.#general)
    return this.#made
  }

  /** For a route with options of its own. `route` is the same in every process: with a limit of its own, it counts by it. */
  own(options: object, route: string): Made {
    const known = this.#own.get(route)
    if (known?.options === options) return known.made
    try {
      checkFields(options, [...RATE_LIMIT_FIELDS, ...this.#adapterFields], "rateLimit")
      const made = this.#makeFrom(joinOptions(this.#general, options as Fields, route))
      this.#own.set(route, { options, made })
      return made
    } catch (error) {
      throw error instanceof SluiceError ? placedAt(error, route) : error
    }
  }

  async close(): Promise<void> {
    await this.#memory?.close()
  }

  /** Routes of one application share a memory as they would share a Redis, so that both count alike. */
  #makeFrom(options: Fields): Made {
    const isStored = ["store", "limiter", "engine"].some((field) => options[field] !== undefined)
    if (isStored) return this.#make(options as never)
    const clock = options.clock as Clock | undefined
    this.#memory ??= memoryStore(clock === undefined ? {} : { clock })
    return this.#make({ ...options, store: this.#memory } as never)
  }
}

/** A route's options over the application's, without those that its own make meaningless. */
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
  // Two routes with a limit per minute each are two limits, also where a store would take them for one.
  if (!hasLimit || own.prefix !== undefined) return joined
  return { ...joined, prefix: `${general.prefix ?? "sluice"}:${route}` }
}

function placedAt({ code, place, expected, found }: SluiceError, route: string): SluiceError {
  const details = { place: `${place} of ${route}`, expected }
  return new SluiceError(code, found === undefined ? details : { ...details, found })
}
