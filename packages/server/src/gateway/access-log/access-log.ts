import { type Clock, systemClock } from "sluice"
import type { Forwarded, GatewayWatch } from "../front/request-context.js"
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

/** Longer texts are cut: a client must not decide how long a line is. */
const MAX_TEXT_LENGTH = 1_000

/** One line of JSON. `now` is when the request ended; the line shows when it arrived, as other servers do. */
export function jsonLine(event: Forwarded, now: number): string {
  const { route, target, decision, upstreamMs, queuedMs } = event
  const isDenied = decision !== undefined && !decision.allowed
  // JSON.stringify leaves out what is undefined.
  const line = JSON.stringify({
    time: new Date(Math.floor(now - event.durationMs)).toISOString(),
    client: short(event.clientIp),
    method: short(event.method),
    host: short(event.host),
    path: short(event.path),
    http: event.httpVersion,
    status: event.status,
    bytesIn: event.bytesIn,
    bytesOut: event.bytesOut,
    durationMs: toMicros(event.durationMs),
    upstreamMs: upstreamMs === undefined ? undefined : toMicros(upstreamMs),
    queuedMs: queuedMs > 0 ? toMicros(queuedMs) : undefined,
    route: short(route?.name),
    target: short(target?.origin),
    denied: isDenied ? decision.reason : undefined,
    rule: isDenied ? short(decision.rule) : undefined,
    degraded: decision?.degraded,
    error: short(event.error),
    referer: short(event.referer),
    userAgent: short(event.userAgent),
  })
  return `${line}\n`
}

/** The combined format of Apache and nginx: `203.0.113.7 - - [10/Oct/2026:13:55:36 +0000] "GET /a HTTP/1.1" 200 2326 "-" "curl/8"`. */
export function combinedLine(event: Forwarded, now: number): string {
  const {
    clientIp = "-",
    method,
    path,
    httpVersion,
    status,
    bytesOut,
    referer = "-",
    userAgent = "-",
  } = event
  const request = `${escaped(method)} ${escaped(path)} HTTP/${httpVersion}`
  const time = logTime(now - event.durationMs)
  return `${escaped(clientIp)} - - [${time}] "${request}" ${status} ${bytesOut} "${escaped(referer)}" "${escaped(userAgent)}"\n`
}

function short<T extends string | undefined>(value: T): T | string {
  return value !== undefined && value.length > MAX_TEXT_LENGTH ? `${value.slice(0, MAX_TEXT_LENGTH)}…` : value
}

/** Milliseconds, rounded to the microsecond. */
function toMicros(ms: number): number {
  return Math.round(ms * 1_000) / 1_000
}

/** Escapes every character that could end the quotes or the line, or control a terminal. */
function escaped(value: string): string {
  return short(value).replace(/[^ !#-[\]-~]/gu, (character) =>
    Buffer.from(character).reduce((all, byte) => `${all}\\x${byte.toString(16).padStart(2, "0")}`, ""),
  )
}

const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

/** `10/Oct/2026:13:55:36 +0000` */
function logTime(ms: number): string {
  const date = new Date(Math.floor(ms))
  const iso = date.toISOString()
  return `${iso.slice(8, 10)}/${MONTHS[date.getUTCMonth()]}/${iso.slice(0, 4)}:${iso.slice(11, 19)} +0000`
}
