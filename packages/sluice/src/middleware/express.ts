import type { Request, RequestHandler, Response } from "express"
import { SluiceError } from "../errors.js"
import { checkFunction } from "../options.js"
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
  checkFunction(options?.onDenied, "rateLimit.onDenied")
  return nodeMiddleware(new RequestLimiter(options, expressRequestReader, ["onDenied"]), options.onDenied)
}

export const expressRequestReader: RequestReader<Request> = {
  ...nodeRequestReader,
  // `url` lacks the path that a router is mounted at.
  target: (request) => request.originalUrl,
  ip(request) {
    const { app } = request
    const trusted: unknown = app.get("trust proxy")
    if (!trusted) return request.socket.remoteAddress
    if (trusted === true) warnOfTrust(app)
    return request.ip
  },
  trustsProxy: ({ app }) => Boolean(app.get("trust proxy")),
  route(request) {
    const path: unknown = request.route?.path
    return typeof path === "string" ? request.baseUrl + path : undefined
  },
}

const warned = new WeakSet<object>()

/** The application's setting still applies, but with it any client can evade the limit. */
function warnOfTrust(app: object): void {
  if (warned.has(app)) return
  warned.add(app)
  process.emitWarning(
    new SluiceError("TRUST_PROXY_INVALID", {
      place: 'app.set("trust proxy")',
      expected:
        "lets any client choose the address that it is counted by; set the number of proxies or their addresses",
      found: true,
    }),
  )
}
