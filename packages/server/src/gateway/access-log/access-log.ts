import { type Clock, systemClock } from "sluice"
import type { Forwarded, GatewayWatch } from "../front/request-context.js"
import { combinedLine, jsonLine } from "./access-line.js"
import { LineWriter, type LineWriterOptions, type WriterTrouble } from "./line-writer.js"

export interface AccessLogOptions extends LineWriterOptions {
  readonly format: "json" | "combined"
  readonly clock?: Clock
}

/** Writes one line per request. */
export class AccessLog {
  readonly #line: (event: Forwarded, now: number) => string
  readonly #writer: LineWriter
  readonly #clock: Clock
  readonly #onTrouble: (trouble: WriterTrouble) => void

  /** Throws when its file cannot be written. */
  constructor({ format, clock = systemClock, ...options }: AccessLogOptions) {
    this.#line = format === "json" ? jsonLine : combinedLine
    this.#clock = clock
    this.#onTrouble = options.onTrouble ?? (() => {})
    this.#writer = new LineWriter(options)
  }

  write(event: Forwarded): void {
    let line: string
    try {
      line = this.#line(event, this.#clock.now())
    } catch (error) {
      // A bug in the formatting must not affect the request.
      this.#onTrouble({ error: String(error) })
      return
    }
    this.#writer.write(line)
  }

  /** Opens the file again, after a log rotation has moved it. */
  reopen(): Promise<void> {
    return this.#writer.reopen()
  }

  /** Writes the remaining lines. */
  close(): Promise<void> {
    return this.#writer.close()
  }
}

/** Counts requests by route. */
export interface RouteCounter {
  count(route: string, status: number, durationMs: number, queuedMs: number, error?: string): void
}

/** The label of requests without a route. No route can have this name: routes are named by host and path, or in the settings. */
const NO_ROUTE = "_none"

/** Passes each finished request to the metrics and the access log. A reload may replace or remove the log. */
export class RouteWatch implements GatewayWatch {
  readonly #counter: RouteCounter | undefined
  log: AccessLog | undefined

  constructor(counter: RouteCounter | undefined) {
    this.#counter = counter
  }

  ended(event: Forwarded): void {
    const { route, status, durationMs, queuedMs, error } = event
    // A mistake of the client is not an error of the upstream.
    const upstreamError = error?.startsWith("UPSTREAM_") ? error : undefined
    this.#counter?.count(route?.name ?? NO_ROUTE, status, durationMs, queuedMs, upstreamError)
    this.log?.write(event)
  }
}
