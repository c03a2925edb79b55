import type { FastifyPluginAsync, FastifyReply, FastifyRequest, HookHandlerDoneFunction } from "fastify"
import { SluiceError } from "../../errors.js"
import { getOrAdd } from "../../get-or-add.js"
import { checkOneOf, checkType } from "../../options.js"
import type { RateLimitOptions, RequestDecision } from "../core/rate-limit-options.js"
import { RequestLimiter } from "../core/request-limiter.js"
import { type RouteLimitOptions, RouteLimits } from "../core/route-limits.js"
import { type FastifyHook, fastifyHook, fastifyRequestReader, type OnDenied } from "./fastify-hook.js"

export type { DecisionEvent, RateLimitOptions, RequestDecision } from "../core/rate-limit-options.js"
export type { FastifyHook } from "./fastify-hook.js"

/** The options of one route. */
export type FastifyRouteLimitOptions = RouteLimitOptions<FastifyRequest> & {
  /** Responds to a denied request: sends the response, or returns its body. Headers and status are already set. */
  onDenied?: OnDenied
}

interface PluginOptions {
  onDenied?: OnDenied
  /** When the limit is checked. At `preHandler` the body is read and the user is known. Default: `"onRequest"`. */
  hook?: (typeof HOOKS)[number]
}

export type FastifyRateLimitOptions =
  | (RateLimitOptions<FastifyRequest> & PluginOptions & { global?: true })
  /** Only routes with options of their own are limited. */
  | (FastifyRouteLimitOptions & PluginOptions & { global: false })

declare module "fastify" {
  interface FastifyContextConfig {
    /** A limit for this route instead of the application's, or `false` for no limit. */
    rateLimit?: FastifyRouteLimitOptions | false
  }
  interface FastifyRequest {
    /** The decision of the last rate limit that the request met; null if it met none. */
    rateLimit: RequestDecision | null
  }
  interface FastifyInstance {
    /** Returns a hook that limits one route, or the not-found handler. */
    rateLimit(options?: FastifyRouteLimitOptions): FastifyHook
  }
}

const HOOKS = ["onRequest", "preValidation", "preHandler"] as const
const ADAPTER_FIELDS = ["onDenied"]

/**
 * A plugin for fastify 5: `fastify.register(rateLimit, { limit: 100, window: "1m" })`. It limits every route, declared
 * before or after it, and requests that match no route. A route sets its own limit by `config: { rateLimit: … }`.
 */
export const rateLimit: FastifyPluginAsync<FastifyRateLimitOptions> = async (fastify, options) => {
  const { global: isGlobal, hook, ...general } = options
  checkType(isGlobal, "rateLimit.global", "true or false", (value) => typeof value === "boolean")
  checkOneOf(hook, HOOKS, "rateLimit.hook")
  const limits = new RouteLimits(general, ADAPTER_FIELDS, makeHook)
  const generalHook = isGlobal === false ? undefined : limits.general
  if (isGlobal === false) limits.checkNames()

  const property = typeof options.requestProperty === "string" ? options.requestProperty : "rateLimit"
  if (!fastify.hasRequestDecorator(property)) fastify.decorateRequest(property, null)
  if (!fastify.hasDecorator("rateLimit")) {
    fastify.decorate("rateLimit", (own?: FastifyRouteLimitOptions) => routeHook(limits, own))
  }
  // One hook for the whole instance: `onRoute` does not see the routes that were declared before the plugin.
  fastify.addHook(hook ?? "onRequest", generalOrOwn(limits, generalHook))
  // Reports invalid options of the routes that `onRoute` does see at the start, and not at the first request.
  fastify.addHook("onRoute", ({ config, method, url }) => {
    const own = config?.rateLimit
    if (isOwn(own, method, url)) limits.own(own, routeName(method, url))
  })
  fastify.addHook("onClose", () => limits.close())
}

// The same as fastify-plugin sets: the hooks apply to the whole instance that registers the plugin, not to a child scope.
Object.assign(rateLimit, {
  [Symbol.for("skip-override")]: true,
  [Symbol.for("fastify.display-name")]: "sluice",
  [Symbol.for("plugin-meta")]: { name: "sluice", fastify: ">=4.23" },
})

function makeHook(options: RateLimitOptions<FastifyRequest> & { onDenied?: OnDenied }): FastifyHook {
  const limiter = new RequestLimiter(options, fastifyRequestReader, ADAPTER_FIELDS)
  return fastifyHook(limiter, options.onDenied)
}

type Config = FastifyRequest["routeOptions"]["config"]
type Limits = RouteLimits<FastifyHook>

/** The hooks of routes with options of their own. If the plugin is registered twice, the first one limits such a route. */
const ownHooks = new WeakMap<Config, { readonly limits: Limits; readonly hook: FastifyHook }>()

function generalOrOwn(limits: Limits, general: FastifyHook | undefined): FastifyHook {
  return (request, reply, done) => {
    // The not-found handler has no config.
    const config: Config | undefined = request.routeOptions.config
    const own = config?.rateLimit
    if (own === undefined) {
      if (general === undefined) done()
      else general(request, reply, done)
      return
    }
    let known = ownHooks.get(config)
    if (known === undefined && isOwn(own, config.method, config.url)) {
      known = { limits, hook: limits.own(own, routeName(config.method, config.url)) }
      ownHooks.set(config, known)
    }
    if (known?.limits === limits) known.hook(request, reply, done)
    else done()
  }
}

/** The hook of a route is made at its first request: only then is it known which route it limits. */
function routeHook(limits: Limits, own: FastifyRouteLimitOptions | undefined): FastifyHook {
  if (own === undefined) return limits.general
  // Reports invalid options at once.
  limits.own(own, "rateLimit()")
  const hooks = new WeakMap<object, FastifyHook>()
  return (request: FastifyRequest, reply: FastifyReply, done: HookHandlerDoneFunction) => {
    const { config } = request.routeOptions
    const hook = getOrAdd(hooks, config ?? NO_ROUTE, () =>
      limits.own(own, config?.url === undefined ? "404" : routeName(config.method, config.url)),
    )
    hook(request, reply, done)
  }
}

const NO_ROUTE = {}

function isOwn(own: unknown, method: unknown, url: string): own is FastifyRouteLimitOptions {
  if (own === undefined || own === false) return false
  if (typeof own === "object" && own !== null) return true
  throw new SluiceError("OPTION_TYPE", {
    place: `config.rateLimit of ${routeName(method, url)}`,
    expected: "must be options or false",
    found: own,
  })
}

/** `GET /items/:id`. The HEAD route that fastify adds to a GET shares its limit. */
function routeName(method: unknown, url: string): string {
  return `${method === "HEAD" ? "GET" : String(method)} ${url}`
}
