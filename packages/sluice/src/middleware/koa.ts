import type { Context, Middleware, Next, ParameterizedContext } from "koa"
import type { Admission } from "./core/admission.js"
import type { RateLimitOptions, RequestDecision } from "./core/rate-limit-options.js"
import { RequestLimiter } from "./core/request-limiter.js"
import type { RequestReader } from "./core/request-reader.js"
import { delayResponse, nodeHostOf, settleOnClose } from "./node/node-http.js"

export type { DecisionEvent, RateLimitOptions, RequestDecision } from "./core/rate-limit-options.js"

declare module "koa" {
  interface DefaultState {
    /** The decision of the last rate limit that the request met. */
    rateLimit?: RequestDecision
  }
}

export type KoaRateLimitOptions = RateLimitOptions<Context> & {
  /** Responds to a denied request instead of the middleware. The headers are already set. */
  onDenied?: (context: Context, decision: RequestDecision, next: Next) => unknown
}

/** A middleware for koa: `app.use(rateLimit({ limit: 100, window: "1m" }))`. The decision is in `ctx.state.rateLimit`. */
export function rateLimit(options: KoaRateLimitOptions): Middleware {
  const onDenied = options?.onDenied
  const limiter = new RequestLimiter<Context>(options, koaRequestReader, ["onDenied"])

  function proceed(admission: Admission<Context> | undefined, next: Next): unknown {
    if (admission === undefined) return next()
    const { request: context, decision, headers, denied } = admission
    context.state[limiter.property] = decision
    for (let i = 0; i < headers.length; i += 2) context.set(headers[i] as string, headers[i + 1] as string)
    if (denied !== undefined) {
      if (onDenied !== undefined) return onDenied(context, decision, next)
      context.status = denied.status
      context.set("content-type", denied.contentType)
      context.body = denied.body
      return undefined
    }
    if (admission.delayMs === 0) return handle(admission, next)
    return delayResponse(admission, context.res).then((isDue) =>
      isDue ? handle(admission, next) : undefined,
    )
  }

  return (context: ParameterizedContext, next) => {
    const admission = limiter.admit(context as Context)
    return admission instanceof Promise
      ? admission.then((admitted) => proceed(admitted, next))
      : proceed(admission, next)
  }
}

function handle(admission: Admission<Context>, next: Next): Promise<unknown> {
  if (admission.mustSettle) settleOnClose(admission, admission.request.res)
  return next().catch((error: unknown) => {
    keepHeaders(error, admission.headers)
    throw error
  })
}

/** Adds the headers to an error: koa's error response drops all headers but those of the error. */
function keepHeaders(error: unknown, headers: readonly string[]): void {
  if (typeof error !== "object" || error === null || Object.isFrozen(error)) return
  const own: Record<string, string> = {}
  for (let i = 0; i < headers.length; i += 2) own[headers[i] as string] = headers[i + 1] as string
  const failed = error as { headers?: object }
  failed.headers = { ...own, ...failed.headers }
}

const koaRequestReader: RequestReader<Context> = {
  method: (context) => context.method,
  target: (context) => context.originalUrl,
  headers: (context) => context.headers,
  rawHeaders: (context) => context.req.rawHeaders,
  peer: (context) => context.socket.remoteAddress,
  host: (context) => nodeHostOf(context.req),
  // `app.proxy` is koa's setting for an application behind a proxy.
  ip: (context) => (context.app.proxy ? context.ip : context.socket.remoteAddress),
  trustsProxy: (context) => context.app.proxy,
  trustSetting: () => "app.proxy = true with app.maxIpsCount = 1 for one proxy",
  // Part of the API of @koa/router, despite its name: it is in its types, and nothing else there tells the pattern.
  body: (context) => (context.request as { body?: unknown }).body,
  route: (context) => (typeof context._matchedRoute === "string" ? context._matchedRoute : undefined),
}
