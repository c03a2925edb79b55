import { checkType } from "../../options.js"
import { Gate } from "../core/admission.js"
import type { RateLimitOptions } from "../core/rate-limit-options.js"
import { RouteLimits } from "../core/route-limits.js"
import { nestRequestReader } from "./nest-request.js"

/** Where decorators leave a route's options; `false` for a route that is not limited. */
export const OPTIONS_KEY = "sluice:rate-limit"
/** What guards ask for. One per application, so that guards of several modules count together. */
export const LIMITS = Symbol.for("sluice.nest-limits")
export const ADAPTER_FIELDS = ["onDenied"]

export interface NestLimit {
  readonly gate: Gate<object>
  readonly onDenied: ((...parts: never) => unknown) | undefined
}

/** A class or a function, as Nest hands them out. */
interface Named {
  readonly name: string
}

/** Which limit a handler has: its own, that of its class, that of the application, or none. */
export class NestLimits {
  readonly #limits: RouteLimits<NestLimit>
  readonly #isGlobal: boolean
  readonly #known = new WeakMap<Named, WeakMap<Named, NestLimit | null>>()

  constructor(options: object | undefined) {
    const { global: isGlobal, ...general } = (options ?? {}) as { global?: boolean }
    checkType(isGlobal, "rateLimit.global", "true or false", (value) => typeof value === "boolean")
    this.#isGlobal = isGlobal !== false
    this.#limits = new RouteLimits(general, ADAPTER_FIELDS, makeLimit)
    // Mistakes come out at the start, and not with the first request.
    if (this.#isGlobal) void this.#limits.general
  }

  /** Null: not limited. */
  of(controller: Named, handler: Named): NestLimit | null {
    let handlers = this.#known.get(controller)
    if (handlers === undefined) {
      handlers = new WeakMap()
      this.#known.set(controller, handlers)
    }
    let limit = handlers.get(handler)
    if (limit === undefined) {
      limit = this.#find(controller, handler)
      handlers.set(handler, limit)
    }
    return limit
  }

  /** Called by Nest when the application closes. */
  onApplicationShutdown(): Promise<void> {
    return this.#limits.close()
  }

  #find(controller: Named, handler: Named): NestLimit | null {
    const ofHandler = optionsOf(handler)
    const own = ofHandler ?? optionsOf(controller)
    if (own === false) return null
    if (own === undefined) return this.#isGlobal ? this.#limits.general : null
    const { name } = controller
    return this.#limits.own(own, ofHandler === undefined ? name : `${name}.${handler.name}`)
  }
}

/** As Nest's Reflector reads it, which lives in a package that is not needed otherwise. Nest brings `reflect-metadata`. */
function optionsOf(target: object): object | false | undefined {
  const { getMetadata } = Reflect as unknown as { getMetadata(key: string, target: object): unknown }
  return getMetadata(OPTIONS_KEY, target) as object | false | undefined
}

function makeLimit(options: RateLimitOptions<object> & Partial<NestLimit>): NestLimit {
  const { onDenied } = options
  checkType(onDenied, "rateLimit.onDenied", "a function", (value) => typeof value === "function")
  return { gate: new Gate(options, nestRequestReader, ADAPTER_FIELDS), onDenied }
}
