import type { ServerResponse } from "node:http"
import type { Context, MiddlewareHandler, Next } from "hono"
import type { Admission, Ending } from "./core/admission.js"
import type { RateLimitOptions, RequestDecision } from "./core/rate-limit-options.js"
import { RequestLimiter } from "./core/request-limiter.js"
import type { RequestReader } from "./core/request-reader.js"
import { hasConnection, peerOf, rawHeadersOf, targetOf } from "./fetch/fetch-request.js"
import {
  deniedResponse,
  goneResponse,
  rememberedHeaders,
  rememberHeaders,
  settleAfterBody,
  settleOnAbort,
  withHeaders,
} from "./fetch/fetch-response.js"
import { addressAdvice, platformAddress } from "./fetch/platform.js"
import { settleOnClose } from "./node/node-http.js"

export type { DecisionEvent, RateLimitOptions, RequestDecision } from "./core/rate-limit-options.js"

declare module "hono" {
  interface ContextVariableMap {
    /** The decision of the last rate limit that the request met. Undefined if it met none. */
    rateLimit: RequestDecision | undefined
  }
}

export type HonoRateLimitOptions = RateLimitOptions<Context> & {
  /**
   * Returns the client's address. Node, Bun and Deno pass it with the request, and the middleware knows the headers of
   * Cloudflare Workers and Vercel; other platforms need this option. Use a header only if the proxy in front of the
   * application always sets it: otherwise clients choose their own address.
   */
  ip?: (context: Context) => string | undefined
  /** Returns the response to a denied request. The rate limit headers are added to it. */
  onDenied?: (context: Context, decision: RequestDecision, next: Next) => DeniedResult | Promise<DeniedResult>
}

// biome-ignore lint/suspicious/noConfusingVoidType: hono's own middlewares return what `next()` resolves to.
type DeniedResult = Response | void

/** A middleware for hono: `app.use(rateLimit({ limit: 100, window: "1m" }))`. The decision is in `c.get("rateLimit")`. */
export function rateLimit(options: HonoRateLimitOptions): MiddlewareHandler {
  const ip = options?.ip
  const onDenied = options?.onDenied
  const reader =
    ip === undefined ? honoRequestReader() : { ...contextReader, peer: ip, trustsProxy: () => true }
  const limiter = new RequestLimiter<Context>(options, reader, ["ip", "onDenied"])

  async function deny(
    admission: Admission<Context>,
    headers: readonly string[],
    context: Context,
    next: Next,
  ): Promise<Response | undefined> {
    const { decision } = admission
    if (onDenied !== undefined) {
      const answer = await onDenied(context, decision, next)
      // It may also be what `next()` resolves to.
      if (isResponse(answer)) return withHeaders(answer, headers)
      if (outgoingOf(context) === undefined) showHeaders(context, headers)
      return undefined
    }
    const { denied } = admission
    return denied === undefined ? undefined : deniedResponse(denied, headers)
  }

  return async (context, next) => {
    const admitted = limiter.admit(context)
    const admission = admitted instanceof Promise ? await admitted : admitted
    if (admission === undefined) {
      await next()
      return
    }
    context.set(limiter.property as "rateLimit", admission.decision)
    const outgoing = outgoingOf(context)
    const headers = outgoing === undefined ? rememberHeaders(context, admission.headers) : admission.headers
    if (outgoing !== undefined) setHeaders(outgoing, headers)
    if (!admission.allowed) return await deny(admission, headers, context, next)
    if (admission.delayMs > 0 && !(await admission.delay(context.req.raw.signal))) return goneResponse()
    if (admission.mustSettle) await settleAfter(admission, context, outgoing, next)
    else await next()
    if (outgoing === undefined) showHeaders(context, headers)
    return
  }
}

/** The response of node:http. Other runtimes have none, and neither has a WebSocket upgrade. */
function outgoingOf(context: Context): ServerResponse | undefined {
  const outgoing = context.env?.outgoing
  return typeof outgoing?.setHeader === "function" ? outgoing : undefined
}

/** Headers set on the response of node:http cost a third less than in a `Headers`, and are sent with any response. */
function setHeaders(outgoing: ServerResponse, headers: readonly string[]): void {
  if (outgoing.headersSent) return
  for (let i = 0; i < headers.length; i += 2)
    outgoing.setHeader(headers[i] as string, headers[i + 1] as string)
}

/**
 * Adds the headers to a finished response: hono drops headers that were set earlier from a response that it did not create,
 * such as a plain `Response`. Of several middlewares the last one's headers include those of the others.
 */
function showHeaders(context: Context, headers: readonly string[]): void {
  if (headers.length === 0 || rememberedHeaders(context) !== headers) return
  const { res } = context
  const shown = withHeaders(res, headers)
  if (shown !== res) context.res = shown
}

async function settleAfter(
  admission: Admission<Context>,
  context: Context,
  outgoing: ServerResponse | undefined,
  next: Next,
): Promise<void> {
  // Node tells when the response was sent; other runtimes only when it is ready.
  if (outgoing !== undefined) {
    settleOnClose(admission, outgoing)
    await next()
    return
  }
  const stopListening = settleOnAbort(admission, context.req.raw.signal)
  const settle = (ending: Ending, headers?: Headers): void => {
    stopListening()
    admission.settle(ending, headers)
  }
  try {
    await next()
  } catch (error) {
    settle("error")
    throw error
  }
  const { res } = context
  if (admission.holds) {
    const watched = settleAfterBody(res, context.req.method, settle)
    if (watched !== res) context.res = watched
  } else settle(res.status, res.headers)
}

/** Reads requests on the platform that runs this process. */
function honoRequestReader(): RequestReader<Context> {
  const ofPlatform = platformAddress()
  return {
    ...contextReader,
    peer: ({ req, env }) => ofPlatform?.(req.raw) ?? peerOf(req.raw, env),
    trustsProxy: ({ req }) => ofPlatform?.(req.raw) !== undefined,
    addressAdvice: ({ env }) => (hasConnection(env) ? undefined : addressAdvice()),
  }
}

const contextReader: Omit<RequestReader<Context>, "peer"> = {
  method: ({ req }) => req.method,
  target: ({ req }) => targetOf(req.url),
  headers: ({ req }) => req.raw.headers,
  rawHeaders: ({ env }) => rawHeadersOf(env),
  host: ({ req }) => req.header("host") ?? new URL(req.url).host,
  // Middlewares match too. The handler is the last that takes no `next`.
  route({ req }) {
    const routes = req.matchedRoutes
    return (routes.findLast(({ handler }) => handler.length < 2) ?? routes.at(-1))?.path
  },
}

/** Not by `instanceof`: @hono/node-server has its own `Response` class. */
function isResponse(answer: DeniedResult): answer is Response {
  return typeof answer === "object" && "headers" in answer
}
