import type { IncomingMessage, ServerResponse } from "node:http"
import type { Duplex } from "node:stream"
import { checkType } from "../../options.js"
import { tell } from "../../stores/fallback/notify.js"
import { Gate } from "../core/admission.js"
import { PROBLEM_CONTENT_TYPE, problemBody, problemOf } from "../core/problem.js"
import type { RateLimitOptions } from "../core/rate-limit-options.js"
import { type Next, nodeMiddleware, type OnDenied, type WithRateLimit } from "./node-middleware.js"
import { nodeRequestReader } from "./node-request.js"
import { limitUpgrade, type UpgradeHandler } from "./node-upgrade.js"

export type { RequestDecision } from "../core/passage.js"
export type { DecisionEvent, RateLimitOptions } from "../core/rate-limit-options.js"
export type { Next, OnDenied, UpgradeHandler }

/** A request that passed, with what was decided about it. */
export type LimitedRequest = IncomingMessage & WithRateLimit

export type NodeRateLimitOptions = RateLimitOptions<IncomingMessage> & {
  /** Answers a denied request instead. */
  onDenied?: OnDenied<IncomingMessage, ServerResponse>
}

export type NodeHandlerOptions = NodeRateLimitOptions & {
  /** Told what the functions in the options throw; the request is then answered 500. Default: a process warning. */
  onError?: (error: unknown, request: IncomingMessage) => void
}

export type UpgradeOptions = RateLimitOptions<IncomingMessage> & Pick<NodeHandlerOptions, "onError">

/** A middleware for plain Node and everything made of `(request, response, next)`. */
export function rateLimit(
  options: NodeRateLimitOptions,
): (request: IncomingMessage, response: ServerResponse, next: Next) => void {
  checkType(options?.onDenied, "rateLimit.onDenied", "a function", isFunction)
  return nodeMiddleware(new Gate(options, nodeRequestReader, ["onDenied"]), options.onDenied)
}

/** The handler behind a limit: `createServer(withRateLimit(handler, { limit: 100, window: "1m" }))`. */
export function withRateLimit(
  handler: (request: LimitedRequest, response: ServerResponse) => unknown,
  options: NodeHandlerOptions,
): (request: IncomingMessage, response: ServerResponse) => void {
  checkType(handler ?? null, "withRateLimit.handler", "a function", isFunction)
  const { onError, ...rest } = options ?? {}
  checkType(onError, "rateLimit.onError", "a function", isFunction)
  const limit = rateLimit(rest as NodeRateLimitOptions)
  return (request, response) => {
    limit(request, response, (error) => {
      if (error === undefined) {
        handler(request, response)
        return
      }
      tell(() => reportError(onError, error, request), undefined)
      if (response.headersSent) {
        response.destroy()
        return
      }
      response.writeHead(500, { "content-type": PROBLEM_CONTENT_TYPE })
      response.end(failureBody)
    })
  }
}

/**
 * The same for upgrades, WebSockets among them: `server.on("upgrade", withUpgradeLimit(handler, options))`. A denied one
 * is answered on the socket, which is then closed. To count upgrades and requests together, give both the same limiter.
 */
export function withUpgradeLimit(
  handler: UpgradeHandler,
  options: UpgradeOptions,
): (request: IncomingMessage, socket: Duplex, head: Buffer) => void {
  checkType(handler ?? null, "withUpgradeLimit.handler", "a function", isFunction)
  const { onError, ...rest } = options ?? {}
  checkType(onError, "rateLimit.onError", "a function", isFunction)
  const gate = new Gate(rest as RateLimitOptions<IncomingMessage>, nodeRequestReader)
  return limitUpgrade(gate, handler, (error, request) => {
    tell(() => reportError(onError, error, request), undefined)
    return { status: 500, body: failureBody, contentType: PROBLEM_CONTENT_TYPE }
  })
}

const failureBody = problemBody(
  problemOf(500, "RATE_LIMIT_FAILED", "The request could not be told apart from others."),
)

/** For `tell`, which makes a warning of what is thrown here, and of what an async `onError` rejects with. */
function reportError(
  onError: NodeHandlerOptions["onError"],
  error: unknown,
  request: IncomingMessage,
): unknown {
  if (onError === undefined) throw error
  return onError(error, request)
}

function isFunction(value: unknown): boolean {
  return typeof value === "function"
}
