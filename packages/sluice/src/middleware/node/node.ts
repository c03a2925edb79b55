import type { IncomingMessage, ServerResponse } from "node:http"
import type { Duplex } from "node:stream"
import { notify } from "../../notify.js"
import { checkFunction } from "../../options.js"
import { PROBLEM_CONTENT_TYPE, problemBody, problemOf } from "../core/problem.js"
import type { RateLimitOptions } from "../core/rate-limit-options.js"
import { RequestLimiter } from "../core/request-limiter.js"
import { nodeRequestReader } from "./node-http.js"
import { type Next, nodeMiddleware, type OnDenied, type WithRateLimit } from "./node-middleware.js"
import { limitUpgrade, type UpgradeHandler } from "./node-upgrade.js"

export type { DecisionEvent, RateLimitOptions, RequestDecision } from "../core/rate-limit-options.js"
export type { Next, OnDenied, UpgradeHandler }

/** A request with the decision about it. */
export type LimitedRequest = IncomingMessage & WithRateLimit

export type NodeRateLimitOptions = RateLimitOptions<IncomingMessage> & {
  /** Responds to a denied request instead of the middleware. */
  onDenied?: OnDenied<IncomingMessage, ServerResponse>
}

export type NodeHandlerOptions = NodeRateLimitOptions & {
  /** Called with errors of the functions in the options; the response is then a 500. Default: a warning. */
  onError?: (error: unknown, request: IncomingMessage) => void
}

export type UpgradeOptions = RateLimitOptions<IncomingMessage> & Pick<NodeHandlerOptions, "onError">

/** A middleware of the form `(request, response, next)`, for plain Node and for connect. */
export function rateLimit(
  options: NodeRateLimitOptions,
): (request: IncomingMessage, response: ServerResponse, next: Next) => void {
  return nodeMiddleware(new RequestLimiter(options, nodeRequestReader, ["onDenied"]), options.onDenied)
}

/** Limits a request handler: `createServer(withRateLimit(handler, { limit: 100, window: "1m" }))`. */
export function withRateLimit(
  handler: (request: LimitedRequest, response: ServerResponse) => unknown,
  options: NodeHandlerOptions,
): (request: IncomingMessage, response: ServerResponse) => void {
  checkFunction(handler ?? null, "withRateLimit.handler")
  const { onError, ...rest } = options ?? {}
  checkFunction(onError, "rateLimit.onError")
  const limit = rateLimit(rest as NodeRateLimitOptions)
  return (request, response) => {
    limit(request, response, (error) => {
      if (error === undefined) {
        handler(request, response)
        return
      }
      notify(() => reportError(onError, error, request), undefined, rest.logger)
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
 * Limits upgrades, such as those to WebSocket: `server.on("upgrade", withUpgradeLimit(handler, options))`. A denied upgrade
 * gets its response on the socket, which is then closed. To count upgrades and requests together, pass both the same limiter.
 */
export function withUpgradeLimit(
  handler: UpgradeHandler,
  options: UpgradeOptions,
): (request: IncomingMessage, socket: Duplex, head: Buffer) => void {
  checkFunction(handler ?? null, "withUpgradeLimit.handler")
  const { onError, ...rest } = options ?? {}
  checkFunction(onError, "rateLimit.onError")
  const limiter = new RequestLimiter(rest as RateLimitOptions<IncomingMessage>, nodeRequestReader)
  return limitUpgrade(limiter, handler, (error, request) => {
    notify(() => reportError(onError, error, request), undefined, rest.logger)
    return { status: 500, body: failureBody, contentType: PROBLEM_CONTENT_TYPE }
  })
}

const failureBody = problemBody(
  problemOf(500, "RATE_LIMIT_FAILED", "The request could not be told apart from others."),
)

/** Runs in `notify`, which turns errors thrown here, and rejections of an async `onError`, into warnings. */
function reportError(
  onError: NodeHandlerOptions["onError"],
  error: unknown,
  request: IncomingMessage,
): unknown {
  if (onError === undefined) throw error
  return onError(error, request)
}
