import type { Forwarded, GatewayWatch } from "../front/gateway-watch.js"
import type { AccessLog } from "./access-log.js"

/** Where requests are counted by route. */
export interface RouteCounter {
  count(route: string, status: number, durationMs: number, queuedMs: number, error?: string): void
}

/** Requests that no route is for. Not the name of one: those are hosts and paths, or chosen. */
const NO_ROUTE = "_none"

/** Tells the counters and the access log of each request. The log may be another one, or none, after a reload. */
export class RouteWatch implements GatewayWatch {
  readonly #counter: RouteCounter | undefined
  log: AccessLog | undefined

  constructor(counter: RouteCounter | undefined) {
    this.#counter = counter
  }

  ended(event: Forwarded): void {
    const { route, status, durationMs, queuedMs, error } = event
    // What the client did wrong is no error of an upstream.
    const failure = error?.startsWith("UPSTREAM_") ? error : undefined
    this.#counter?.count(route?.name ?? NO_ROUTE, status, durationMs, queuedMs, failure)
    this.log?.write(event)
  }
}
