import type { Request, RequestHandler, Response } from "express"
import type { RateLimitOptions, RequestDecision } from "./core/rate-limit-options.js"
import { RequestLimiter } from "./core/request-limiter.js"
import type { RequestReader } from "./core/request-reader.js"
import { nodeRequestReader } from "./node/node-http.js"
import { nodeMiddleware, type OnDenied } from "./node/node-middleware.js"

export type { DecisionEvent, RateLimitOptions, RequestDecision } from "./core/rate-limit-options.js"
export {
  type ExpressRateLimitStoreOptions,
  expressRateLimitStore,
} from "./stores/express-rate-limit-store.js"

declare global {
  namespace Express {
    interface Request {
      /** The decision of the last rate limit that the request met. */
      rateLimit?: RequestDecision
    }
  }
}

export type ExpressRateLimitOptions = RateLimitOptions<Request> & {
  /** Responds to a denied request instead of the middleware. The headers are already set. */
  onDenied?: OnDenied<Request, Response>
}

/** A middleware for express 4 and 5: `app.use(rateLimit({ limit: 100, window: "1m" }))`. */
export function rateLimit(options: ExpressRateLimitOptions): RequestHandler {
  return nodeMiddleware(new RequestLimiter(options, expressRequestReader, ["onDenied"]), options.onDenied)
}

export const expressRequestReader: RequestReader<Request> = {
  ...nodeRequestReader,
  // `url` lacks the path that a router is mounted at.
  target: (request) => request.originalUrl,
  ip(request) {
    return request.app.get("trust proxy") ? request.ip : request.socket.remoteAddress
  },
  trustsProxy: ({ app }) => Boolean(app.get("trust proxy")),
  trustSetting: () => 'app.set("trust proxy", 1) for one proxy',
  // The application's setting applies all the same, but with it any client can evade the limit.
  trustMistake: ({ app }) => (app.get("trust proxy") === true ? 'app.set("trust proxy")' : undefined),
  route(request) {
    const path: unknown = request.route?.path
    return typeof path === "string" ? request.baseUrl + path : undefined
  },
}
