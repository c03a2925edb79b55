import type { FastifyPluginAsync, FastifyReply, FastifyRequest, HookHandlerDoneFunction } from "fastify"
import { SluiceError } from "../../errors.js"
import { checkOneOf, checkType } from "../../options.js"
import { Gate } from "../core/admission.js"
import type { RequestDecision } from "../core/passage.js"
import type { RateLimitOptions } from "../core/rate-limit-options.js"
import { type RouteLimitOptions, RouteLimits } from "../core/route-limits.js"
import { type FastifyHook, fastifyHook, type OnDenied } from "./fastify-hook.js"
import { fastifyRequestReader } from "./fastify-request.js"
import { FastifyRoutes } from "./fastify-routes.js"

export type { RequestDecision } from "../core/passage.js"
export type { DecisionEvent, RateLimitOptions } from "../core/rate-limit-options.js"
export type { FastifyHook } from "./fastify-hook.js"

/** What the hook of one route takes. */
export type FastifyRouteLimitOptions = RouteLimitOptions<FastifyRequest> & {
  /** Answers a denied request instead: sends, or returns what to send. Headers and status are set already. */
  onDenied?: OnDenied
}

interface PluginOptions {
  onDenied?: OnDenied
  /** When the limit is asked. Later ones know more of the request: `preHandler` its body and its user. Default: `"onRequest"`. */
  hook?: (typeof HOOKS)[number]
}

export type FastifyRateLimitOptions =
  | (RateLimitOptions<FastifyRequest> & PluginOptions & { global?: true })
  /** Nothing is limited but the routes that say so. */
  | (FastifyRouteLimitOptions & PluginOptions & { global: false })

declare module "fastify" {
  interface FastifyContextConfig {
    /** A limit for this route instead of that of the application, or none. */
    rateLimit?: FastifyRouteLimitOptions | false
  }
  interface FastifyRequest {
    /** What the last rate limit on the way here decided; null if none was asked. */
    rateLimit: RequestDecision | null
  }
  interface FastifyInstance {
    /** A hook that limits one route, or the answer to those that do not exist. */
    rateLimit(options?: FastifyRouteLimitOptions): FastifyHook
  }
}

const HOOKS = ["onRequest", "preValidation", "preHandler"] as const
const ADAPTER_FIELDS = ["onDenied"]

/**
 * A plugin for fastify 5: `fastify.register(rateLimit, { limit: 100, window: "1m" })`. It limits every route, whether it
 * was declared before or after, and unknown ones too. Routes may differ by `config: { rateLimit: … }`.
 */
export const rateLimit: FastifyPluginAsync<FastifyRateLimitOptions> = async (fastify, options) => {
  const { global: isGlobal, hook, ...general } = options
  checkType(isGlobal, "rateLimit.global", "true or false", (value) => typeof value === "boolean")
  checkOneOf(hook, HOOKS, "rateLimit.hook")
  const limits = new RouteLimits(general, ADAPTER_FIELDS, makeHook)
  const generalHook = isGlobal === false ? undefined : limits.general

  if (!fastify.hasRequestDecorator("rateLimit")) fastify.decorateRequest("rateLimit", null)
  if (!fastify.hasDecorator("rateLimit")) {
    fastify.decorate("rateLimit", (own?: FastifyRouteLimitOptions) => routeHook(limits, own))
  }
  const routes = new FastifyRoutes(fastify.printRoutes())
  // A hook of the instance, not one put on each route: that would miss routes declared before the plugin was loaded.
  fastify.addHook(hook ?? "onRequest", generalOrOwn(limits, generalHook, routes))
  // Mistakes come out at the start, as far as the routes are seen here, and not with the first request.
  fastify.addHook("onRoute", (route) => {
    const { config, method, url } = route
    const own = config?.rateLimit
    if (isOwn(own, method, url)) limits.own(own, routeName(method, url))
    routes.see(route)
  })
  fastify.addHook("onReady", async () => routes.complete())
  fastify.addHook("onClose", () => limits.close())
}

// What fastify-plugin would set: the limit is one of the whole instance that registers it, not of a scope of its own.
Object.assign(rateLimit, {
  [Symbol.for("skip-override")]: true,
  [Symbol.for("fastify.display-name")]: "sluice",
  [Symbol.for("plugin-meta")]: { name: "sluice", fastify: ">=5" },
})

function makeHook(options: RateLimitOptions<FastifyRequest> & { onDenied?: OnDenied }): FastifyHook {
  const { onDenied } = options
  checkType(onDenied, "rateLimit.onDenied", "a function", (value) => typeof value === "function")
  return fastifyHook(new Gate(options, fastifyRequestReader, ADAPTER_FIELDS), onDenied)
}

type Config = FastifyRequest["routeOptions"]["config"]
type Limits = RouteLimits<FastifyHook>

/** The hooks of routes with options of their own. Where several plugins meet such a route, the first one takes care of it. */
const ownHooks = new WeakMap<Config, { readonly limits: Limits; readonly hook: FastifyHook }>()

function generalOrOwn(limits: Limits, general: FastifyHook | undefined, routes: FastifyRoutes): FastifyHook {
  return (request, reply, done) => {
    // The answer to unknown routes is one of those that are not shown.
    const config = routes.mayDiffer || request.is404 ? request.routeOptions.config : undefined
    const own = config?.rateLimit
    if (config === undefined || own === undefined) {
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

/** Made with the first request of each route, because only then it is known which one it is for. */
function routeHook(limits: Limits, own: FastifyRouteLimitOptions | undefined): FastifyHook {
  if (own === undefined) return limits.general
  // Made once now, to find mistakes in the options.
  limits.own(own, "rateLimit()")
  const hooks = new WeakMap<object, FastifyHook>()
  return (request: FastifyRequest, reply: FastifyReply, done: HookHandlerDoneFunction) => {
    const { config } = request.routeOptions
    let hook = hooks.get(config ?? NO_ROUTE)
    if (hook === undefined) {
      hook = limits.own(own, config?.url === undefined ? "404" : routeName(config.method, config.url))
      hooks.set(config ?? NO_ROUTE, hook)
    }
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

/** `GET /items/:id`. The HEAD that fastify adds to a GET is the same to whoever limits it. */
function routeName(method: unknown, url: string): string {
  return `${method === "HEAD" ? "GET" : String(method)} ${url}`
}
