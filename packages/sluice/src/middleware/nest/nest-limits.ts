import type { Request as ExpressRequest } from "express"
import type { FastifyRequest } from "fastify"
import { getOrAdd } from "../../get-or-add.js"
import { checkType } from "../../options.js"
import type { RateLimitOptions, RequestDecision } from "../core/rate-limit-options.js"
import { RequestLimiter } from "../core/request-limiter.js"
import type { RequestReader } from "../core/request-reader.js"
import { RouteLimits } from "../core/route-limits.js"
import { expressRequestReader } from "../express.js"
import { fastifyRequestReader } from "../fastify/fastify-hook.js"

/** The metadata key of a route's options. They are `false` for a route that is not limited. */
export const OPTIONS_KEY = "sluice:rate-limit"
/** The injection token of `NestLimits`. One per application, so that guards of several modules count together. */
export const LIMITS = Symbol.for("sluice.nest-limits")
export const ADAPTER_FIELDS = ["onDenied"]

/** What requests have in common on all platforms. Pass the request type of your platform instead if you need more. */
export interface NestRequest {
  readonly method: string
  readonly url: string
  readonly originalUrl: string
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly ip?: string | undefined
  /** The decision of the last rate limit that the request met. */
  rateLimit?: RequestDecision | null
}

export interface NestLimit {
  readonly limiter: RequestLimiter<object>
  readonly onDenied: ((...parts: never) => unknown) | undefined
}

/** A controller class or a handler function. */
interface Named {
  readonly name: string
}

/** Finds the limit of a handler: its own, that of its class, that of the application, or none. */
export class NestLimits {
  /** Whether the module guards all handlers itself. */
  readonly isGuarding: boolean
  readonly #limits: RouteLimits<NestLimit>
  readonly #isGlobal: boolean
  readonly #counted = new WeakSet<object>()
  readonly #known = new WeakMap<Named, WeakMap<Named, NestLimit | null>>()

  constructor(options: object | undefined) {
    const { global: isGlobal, guard, ...general } = (options ?? {}) as { global?: boolean; guard?: boolean }
    for (const [name, value] of Object.entries({ global: isGlobal, guard })) {
      checkType(value, `rateLimit.${name}`, "true or false", (given) => typeof given === "boolean")
    }
    this.#isGlobal = isGlobal !== false
    this.isGuarding = guard !== false
    this.#limits = new RouteLimits(general, ADAPTER_FIELDS, makeLimit)
    // Reports invalid options at the start, and not at the first request.
    if (this.#isGlobal) void this.#limits.general
    else this.#limits.checkNames()
  }

  /** Null when the handler is not limited. */
  of(controller: Named, handler: Named): NestLimit | null {
    const handlers = getOrAdd(this.#known, controller, () => new WeakMap())
    return getOrAdd(handlers, handler, () => this.#find(controller, handler))
  }

  /**
   * Returns true for the first guard that counts a call of a handler. Nest gives all guards of a call the same context, so a
   * guard that is also registered by hand does not count the call again.
   */
  claim(context: object): boolean {
    if (this.#counted.has(context)) return false
    this.#counted.add(context)
    return true
  }

  /** Nest calls it when the application closes. */
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

/** Does what Nest's Reflector does, which is in a package that is not needed otherwise. Nest loads `reflect-metadata`. */
function optionsOf(target: object): object | false | undefined {
  const { getMetadata } = Reflect as unknown as { getMetadata(key: string, target: object): unknown }
  return getMetadata(OPTIONS_KEY, target) as object | false | undefined
}

function makeLimit(options: RateLimitOptions<object> & Partial<NestLimit>): NestLimit {
  const limiter = new RequestLimiter(options, nestRequestReader, ADAPTER_FIELDS)
  return { limiter, onDenied: options.onDenied }
}

/** Reads requests of platform-fastify and platform-express. */
const nestRequestReader: RequestReader<object> = {
  method: (request) => readerOf(request).method(request),
  target: (request) => readerOf(request).target(request),
  headers: (request) => readerOf(request).headers(request),
  rawHeaders: (request) => readerOf(request).rawHeaders(request),
  peer: (request) => readerOf(request).peer(request),
  host: (request) => readerOf(request).host?.(request),
  ip: (request) => readerOf(request).ip?.(request),
  trustsProxy: (request) => readerOf(request).trustsProxy?.(request) === true,
  trustSetting: (request) => settingOf(request),
  trustMistake: (request) => readerOf(request).trustMistake?.(request),
  // A GraphQL request calls many handlers. Guards never count one call twice.
  mayRepeat: true,
  route: (request) => readerOf(request).route?.(request),
  body: (request) => readerOf(request).body?.(request),
}

/** Nest makes the application of the platform. */
function settingOf(request: object): string {
  return "raw" in request
    ? "new FastifyAdapter({ trustProxy: 1 }) for one proxy"
    : 'app.set("trust proxy", 1) of a NestExpressApplication for one proxy'
}

function readerOf(request: object): RequestReader<object> {
  // Fastify wraps the request of node:http; the request of express is one itself.
  return "raw" in request ? (forFastify as RequestReader<object>) : (forExpress as RequestReader<object>)
}

const forFastify: RequestReader<FastifyRequest> = fastifyRequestReader
const forExpress: RequestReader<ExpressRequest> = expressRequestReader
