import type { Request, RequestHandler, Response } from "express"
import { checkType } from "../../options.js"
import { Gate } from "../core/admission.js"
import type { RequestDecision } from "../core/passage.js"
import type { RateLimitOptions } from "../core/rate-limit-options.js"
import { nodeMiddleware, type OnDenied } from "../node/node-middleware.js"
import { expressRequestReader } from "./express-request.js"

export type { RequestDecision } from "../core/passage.js"
export type { DecisionEvent, RateLimitOptions } from "../core/rate-limit-options.js"
export {
  type ExpressRateLimitStoreOptions,
  expressRateLimitStore,
} from "../stores/express-rate-limit-store.js"

declare global {
  namespace Express {
    interface Request {
      /** What the last rate limit on the way here decided. */
      rateLimit?: RequestDecision
    }
  }
}

export type ExpressRateLimitOptions = RateLimitOptions<Request> & {
  /** Answers a denied request instead; the headers are set already. */
  onDenied?: OnDenied<Request, Response>
}

/** A middleware for express 4 and 5: `app.use(rateLimit({ limit: 100, window: "1m" }))`. */
export function rateLimit(options: ExpressRateLimitOptions): RequestHandler {
  checkType(options?.onDenied, "rateLimit.onDenied", "a function", (value) => typeof value === "function")
  return nodeMiddleware(new Gate(options, expressRequestReader, ["onDenied"]), options.onDenied)
}
