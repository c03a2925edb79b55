import type { Forwarded } from "../front/request-context.js"

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
