import type { Context, Middleware, Next, ParameterizedContext } from "koa"
import { checkType } from "../options.js"
import { Gate } from "./core/admission.js"
import type { Passage, RequestDecision } from "./core/passage.js"
import type { RateLimitOptions } from "./core/rate-limit-options.js"
import type { RequestReader } from "./core/request-reader.js"
import { holdResponse, settleAtClose } from "./node/node-middleware.js"
import { nodeRequestReader } from "./node/node-request.js"

export type { RequestDecision } from "./core/passage.js"
export type { DecisionEvent, RateLimitOptions } from "./core/rate-limit-options.js"

declare module "koa" {
  interface DefaultState {
    /** What the last rate limit on the way here decided. */
    rateLimit?: RequestDecision
  }
}

export type KoaRateLimitOptions = RateLimitOptions<Context> & {
  /** Answers a denied request instead; the headers are set already. */
  onDenied?: (context: Context, decision: RequestDecision, next: Next) => unknown
}

/** A middleware for koa: `app.use(rateLimit({ limit: 100, window: "1m" }))`. The decision is in `ctx.state.rateLimit`. */
export function rateLimit(options: KoaRateLimitOptions): Middleware {
  const onDenied = options?.onDenied
  checkType(onDenied, "rateLimit.onDenied", "a function", (value) => typeof value === "function")
  const gate = new Gate<Context>(options, koaRequestReader, ["onDenied"])

  function proceed(passage: Passage<Context> | undefined, context: Context, next: Next): unknown {
    if (passage === undefined) return next()
    context.state.rateLimit = passage.decision
    const { headers } = passage
    for (let i = 0; i < headers.length; i += 2) context.set(headers[i] as string, headers[i + 1] as string)
    const { denied } = passage
    if (denied !== undefined) {
      if (onDenied !== undefined) return onDenied(context, passage.decision, next)
      context.status = denied.status
      context.set("content-type", denied.contentType)
      context.body = denied.body
      return undefined
    }
    if (passage.delayMs > 0) {
      return holdResponse(passage, context.res).then((isDue) =>
        isDue ? goOn(passage, context, next) : undefined,
      )
    }
    return goOn(passage, context, next)
  }

  return (context: ParameterizedContext, next) => {
    const passing = gate.pass(context as Context)
    return passing instanceof Promise
      ? passing.then((passage) => proceed(passage, context as Context, next))
      : proceed(passing, context as Context, next)
  }
}

function goOn(passage: Passage<Context>, context: Context, next: Next): Promise<unknown> {
  if (passage.mustSettle) settleAtClose(passage, context.res)
  return next().catch((error: unknown) => {
    keepHeaders(error, passage.headers)
    throw error
  })
}

/** Koa answers an error without the headers that were set before it, except for those the error itself brings. */
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
  host: (context) => nodeRequestReader.host?.(context.req),
  // `app.proxy` is how koa is told that it stands behind one.
  ip: (context) => (context.app.proxy ? context.ip : context.socket.remoteAddress),
  route: (context) => (typeof context._matchedRoute === "string" ? context._matchedRoute : undefined),
}
