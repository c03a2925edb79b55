import type { Forwarded } from "../front/gateway-watch.js"
import type { LineBytes } from "./line-bytes.js"

/** Longer than any path or program of interest. Ten such texts, six bytes for each of their characters, are no longer than a line may be. */
const LONGEST = 1_000

/** `now` is when the request ended; the line has the time it came, as other servers write it. */
export function putJsonLine(line: LineBytes, event: Forwarded, now: number): void {
  const { route, target, decision, upstreamMs, clientIp, host } = event
  // By hand: JSON.stringify of the whole takes several times as long. What a client sent is always escaped.
  putStart(line, now - event.durationMs)
  if (clientIp !== undefined) putText(line, CLIENT, clientIp)
  line.piece(known(methods, ',"method":', event.method))
  if (host !== undefined) putText(line, HOST, host)
  putText(line, PATH, event.path)
  putText(line, HTTP, event.httpVersion)
  line.piece(STATUS)
  line.whole(event.status)
  line.piece(BYTES_IN)
  line.whole(event.bytesIn)
  line.piece(BYTES_OUT)
  line.whole(event.bytesOut)
  line.piece(DURATION)
  line.micros(event.durationMs)
  if (upstreamMs !== undefined) {
    line.piece(UPSTREAM)
    line.micros(upstreamMs)
  }
  if (event.queuedMs > 0) {
    line.piece(QUEUED)
    line.micros(event.queuedMs)
  }
  if (route !== undefined) line.piece(known(routes, ',"route":', route.name))
  if (target !== undefined) line.piece(known(targets, ',"target":', target.origin))
  if (decision !== undefined) {
    if (!decision.allowed) {
      line.piece(known(reasons, ',"denied":', decision.reason))
      if (decision.rule !== undefined) line.piece(known(rules, ',"rule":', decision.rule))
    }
    if (decision.degraded !== undefined) putText(line, DEGRADED, decision.degraded)
  }
  if (event.error !== undefined) putText(line, ERROR, event.error)
  if (event.referer !== undefined) putText(line, REFERER, event.referer)
  if (event.userAgent !== undefined) putText(line, USER_AGENT, event.userAgent)
  line.piece(END)
}

const CLIENT = Buffer.from(',"client":"')
const HOST = Buffer.from(',"host":"')
const PATH = Buffer.from(',"path":"')
const HTTP = Buffer.from(',"http":"')
const STATUS = Buffer.from(',"status":')
const BYTES_IN = Buffer.from(',"bytesIn":')
const BYTES_OUT = Buffer.from(',"bytesOut":')
const DURATION = Buffer.from(',"durationMs":')
const UPSTREAM = Buffer.from(',"upstreamMs":')
const QUEUED = Buffer.from(',"queuedMs":')
const DEGRADED = Buffer.from(',"degraded":"')
const ERROR = Buffer.from(',"error":"')
const REFERER = Buffer.from(',"referer":"')
const USER_AGENT = Buffer.from(',"userAgent":"')
const QUOTE = Buffer.from('"')
const END = Buffer.from("}\n")

function putText(line: LineBytes, name: Uint8Array, value: string): void {
  line.piece(name)
  line.quoted(short(value))
  line.piece(QUOTE)
}

/** Pieces by what they say, of which there are few; but a client may invent methods, and rules come and go. */
type Known = Map<string, Uint8Array>
const MOST_KNOWN = 1_000
const LONGEST_KNOWN = 100
const methods: Known = new Map()
const routes: Known = new Map()
const targets: Known = new Map()
const reasons: Known = new Map()
const rules: Known = new Map()

function known(pieces: Known, name: string, value: string): Uint8Array {
  const piece = pieces.get(value)
  if (piece !== undefined) return piece
  const made = Buffer.from(`${name}${JSON.stringify(short(value))}`)
  if (pieces.size < MOST_KNOWN && value.length <= LONGEST_KNOWN) pieces.set(value, made)
  return made
}

/** As Apache and nginx write it: `203.0.113.7 - - [10/Oct/2026:13:55:36 +0000] "GET /a HTTP/1.1" 200 2326 "-" "curl/8"`. */
export function putCombinedLine(line: LineBytes, event: Forwarded, now: number): void {
  const { clientIp = "-", method, path, httpVersion, status, bytesOut } = event
  const request = `${quoted(method)} ${quoted(path)} HTTP/${httpVersion}`
  const from = quoted(event.referer ?? "-")
  line.text(
    `${quoted(clientIp)} - - [${logTime(now - event.durationMs)}] "${request}" ${status} ${bytesOut} "${from}" "${quoted(event.userAgent ?? "-")}"\n`,
  )
}

function short(value: string): string {
  return value.length > LONGEST ? `${value.slice(0, LONGEST)}…` : value
}

/** Nothing of it needs to be escaped. */
const PLAIN = /^[ !#-[\]-~]*$/

/** Nothing in it can end the quotes, the line, or talk to a terminal. */
function quoted(value: string): string {
  const kept = short(value)
  // Nearly everything is plain.
  if (PLAIN.test(kept)) return kept
  return kept.replace(/[^ !#-[\]-~]/gu, (char) =>
    Buffer.from(char, "utf8").reduce((all, byte) => `${all}\\x${byte.toString(16).padStart(2, "0")}`, ""),
  )
}

let lastIsoSecond = Number.NaN
let lastIso: Uint8Array = END
const ZULU = Buffer.from('Z"')

/** The time of a line. */
function putStart(line: LineBytes, ms: number): void {
  const second = Math.floor(ms / 1_000)
  if (second !== lastIsoSecond) {
    lastIsoSecond = second
    lastIso = Buffer.from(`{"time":"${new Date(second * 1_000).toISOString().slice(0, -"000Z".length)}`)
  }
  line.piece(lastIso)
  line.thousandths(Math.floor(ms) - second * 1_000)
  line.piece(ZULU)
}

const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

let lastSecond = Number.NaN
let lastLogTime = ""

function logTime(ms: number): string {
  const second = Math.floor(ms / 1000)
  if (second !== lastSecond) {
    lastSecond = second
    const date = new Date(second * 1000)
    const [year, , day] = date.toISOString().slice(0, 10).split("-")
    lastLogTime = `${day}/${MONTHS[date.getUTCMonth()]}/${year}:${date.toISOString().slice(11, 19)} +0000`
  }
  return lastLogTime
}
