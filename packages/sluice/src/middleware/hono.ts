import type { ServerResponse } from "node:http"
import type { Context, MiddlewareHandler, Next } from "hono"
import { checkType } from "../options.js"
import { Gate } from "./core/admission.js"
import type { Passage, RequestDecision } from "./core/passage.js"
import type { RateLimitOptions } from "./core/rate-limit-options.js"
import type { RequestReader } from "./core/request-reader.js"
import { peerOf, rawHeadersOf } from "./fetch/fetch-peer.js"
import { targetOf } from "./fetch/fetch-request.js"
import {
  deniedResponse,
  goneResponse,
  notedHeaders,
  noteHeaders,
  settleAtAbort,
  withHeaders,
} from "./fetch/fetch-response.js"
import { settleAtClose } from "./node/node-middleware.js"

export type { RequestDecision } from "./core/passage.js"
export type { DecisionEvent, RateLimitOptions } from "./core/rate-limit-options.js"

declare module "hono" {
  interface ContextVariableMap {
    /** What the last rate limit on the way here decided. Undefined if there was none. */
    rateLimit: RequestDecision | undefined
  }
}

export type HonoRateLimitOptions = RateLimitOptions<Context> & {
  /**
   * The address of whoever is connected. Needed where the runtime does not tell it, as Node, Bun and Deno do: on Workers,
   * `(c) => c.req.header("cf-connecting-ip")`. Name a header only if whoever stands in front of the application always
   * sets it; else clients choose whom they are counted as.
   */
  ip?: (context: Context) => string | undefined
  /** Answers a denied request instead; the headers are added to it. */
  onDenied?: (context: Context, decision: RequestDecision, next: Next) => DeniedResult | Promise<DeniedResult>
}

// biome-ignore lint/suspicious/noConfusingVoidType: what `next()` gives is what hono's own middlewares return.
type DeniedResult = Response | void

/** A middleware for hono: `app.use(rateLimit({ limit: 100, window: "1m" }))`. The decision is in `c.get("rateLimit")`. */
export function rateLimit(options: HonoRateLimitOptions): MiddlewareHandler {
  const ip = options?.ip
  const onDenied = options?.onDenied
  checkType(ip, "rateLimit.ip", "a function", isFunction)
  checkType(onDenied, "rateLimit.onDenied", "a function", isFunction)
  const reader = ip === undefined ? honoRequestReader : { ...honoRequestReader, peer: ip }
  const gate = new Gate<Context>(options, reader, ["ip", "onDenied"])

  async function deny(
    passage: Passage<Context>,
    context: Context,
    next: Next,
  ): Promise<Response | undefined> {
    const { headers, decision } = passage
    if (onDenied !== undefined) {
      const answer = await onDenied(context, decision, next)
      // What `next()` gives is the context.
      if (isResponse(answer)) return withHeaders(answer, headers)
      if (outgoingOf(context) === undefined) showHeaders(context, headers)
      return undefined
    }
    const { denied } = passage
    return denied === undefined ? undefined : deniedResponse(denied, headers)
  }

  return async (context, next) => {
    const passing = gate.pass(context)
    const passage = passing instanceof Promise ? await passing : passing
    if (passage === undefined) {
      await next()
      return
    }
    const { headers } = passage
    context.set("rateLimit", passage.decision)
    const outgoing = outgoingOf(context)
    if (outgoing === undefined) noteHeaders(context, headers)
    else setHeaders(outgoing, headers)
    if (!passage.allowed) return await deny(passage, context, next)
    if (passage.delayMs > 0 && !(await passage.hold(context.req.raw.signal))) return goneResponse()
    if (passage.mustSettle) await settleAfter(passage, context, outgoing, next)
    else await next()
    if (outgoing === undefined) showHeaders(context, headers)
    return
  }
}

/** Where the answer goes on Node. Other runtimes have none, and neither has a WebSocket upgrade. */
function outgoingOf(context: Context): ServerResponse | undefined {
  const outgoing = context.env?.outgoing
  return typeof outgoing?.setHeader === "function" ? outgoing : undefined
}

/** Told to Node itself, headers cost about a third less than in a `Headers`, and are on whatever is answered. */
function setHeaders(outgoing: ServerResponse, headers: readonly string[]): void {
  if (outgoing.headersSent) return
  for (let i = 0; i < headers.length; i += 2)
    outgoing.setHeader(headers[i] as string, headers[i + 1] as string)
}

/**
 * Puts the headers on the answer once it is there: hono would leave headers that were set before out of every answer that
 * it did not make itself, such as a plain `Response`. Of several gates the last one's headers hold those of the others.
 */
function showHeaders(context: Context, headers: readonly string[]): void {
  if (headers.length === 0 || notedHeaders(context) !== headers) return
  const { res } = context
  const shown = withHeaders(res, headers)
  if (shown !== res) context.res = shown
}

async function settleAfter(
  passage: Passage<Context>,
  context: Context,
  outgoing: ServerResponse | undefined,
  next: Next,
): Promise<void> {
  // On Node it is known when the answer has left; elsewhere only when it is ready.
  if (outgoing !== undefined) {
    settleAtClose(passage, outgoing)
    await next()
    return
  }
  const stopListening = settleAtAbort(passage, context.req.raw.signal)
  try {
    await next()
    passage.settle(context.res.status, context.res.headers)
  } catch (error) {
    passage.settle("error")
    throw error
  } finally {
    stopListening()
  }
}

const honoRequestReader: RequestReader<Context> = {
  method: ({ req }) => req.method,
  target: ({ req }) => targetOf(req.url),
  headers: ({ req }) => req.raw.headers,
  rawHeaders: ({ env }) => rawHeadersOf(env),
  host: ({ req }) => req.header("host") ?? new URL(req.url).host,
  peer: ({ req, env }) => peerOf(req.raw, env),
  // Middlewares match too; what was asked for is what answers, and takes no `next`.
  route({ req }) {
    const routes = req.matchedRoutes
    return (routes.findLast(({ handler }) => handler.length < 2) ?? routes.at(-1))?.path
  },
}

/** Not by `instanceof`: @hono/node-server has a `Response` of its own. */
function isResponse(answer: DeniedResult): answer is Response {
  return typeof answer === "object" && "headers" in answer
}

function isFunction(value: unknown): boolean {
  return typeof value === "function"
}
