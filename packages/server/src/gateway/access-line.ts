import type { Forwarded } from "./gateway-watch.js"

/** Longer than any path or program of interest. */
const LONGEST = 1_000

/** `now` is when the request ended; the line has the time it came, as other servers write it. */
export function jsonLine(event: Forwarded, now: number): string {
  const { route, target, decision, upstreamMs, clientIp, host } = event
  // By hand, and in as few pieces as can be: JSON.stringify of the whole takes several times as long. What a client sent is
  // always escaped.
  let line = startAt(now - event.durationMs)
  if (clientIp !== undefined) line += `"client":"${inQuotes(clientIp)}",`
  line += known(methods, '"method":', event.method)
  if (host !== undefined) line += `,"host":"${inQuotes(host)}"`
  line += `,"path":"${inQuotes(event.path)}","http":"${event.httpVersion}","status":${event.status},"bytesIn":${event.bytesIn},"bytesOut":${event.bytesOut},"durationMs":${micros(event.durationMs)}`
  if (upstreamMs !== undefined) line += `,"upstreamMs":${micros(upstreamMs)}`
  if (event.queuedMs > 0) line += `,"queuedMs":${micros(event.queuedMs)}`
  if (route !== undefined) line += known(routes, ',"route":', route.name)
  if (target !== undefined) line += known(targets, ',"target":', target.origin)
  if (decision !== undefined) {
    if (!decision.allowed) {
      line += known(reasons, ',"denied":', decision.reason)
      if (decision.rule !== undefined) line += known(rules, ',"rule":', decision.rule)
    }
    if (decision.degraded !== undefined) line += `,"degraded":"${decision.degraded}"`
  }
  if (event.error !== undefined) line += `,"error":"${inQuotes(event.error)}"`
  if (event.referer !== undefined) line += `,"referer":"${inQuotes(event.referer)}"`
  if (event.userAgent !== undefined) line += `,"userAgent":"${inQuotes(event.userAgent)}"`
  return `${line}}\n`
}

/** Texts by what they say, of which there are few; but a client may invent methods, and rules come and go. */
type Known = Map<string, string>
const MOST_KNOWN = 1_000
const LONGEST_KNOWN = 100
const methods: Known = new Map()
const routes: Known = new Map()
const targets: Known = new Map()
const reasons: Known = new Map()
const rules: Known = new Map()

function known(texts: Known, name: string, value: string): string {
  const text = texts.get(value)
  if (text !== undefined) return text
  // Joined, so that it is one piece in every line it goes into.
  const made = [name, '"', inQuotes(value), '"'].join("")
  if (texts.size < MOST_KNOWN && value.length <= LONGEST_KNOWN) texts.set(value, made)
  return made
}

/** As Apache and nginx write it: `203.0.113.7 - - [10/Oct/2026:13:55:36 +0000] "GET /a HTTP/1.1" 200 2326 "-" "curl/8"`. */
export function combinedLine(event: Forwarded, now: number): string {
  const { clientIp = "-", method, path, httpVersion, status, bytesOut } = event
  const request = `${quoted(method)} ${quoted(path)} HTTP/${httpVersion}`
  const from = quoted(event.referer ?? "-")
  return `${quoted(clientIp)} - - [${logTime(now - event.durationMs)}] "${request}" ${status} ${bytesOut} "${from}" "${quoted(event.userAgent ?? "-")}"\n`
}

function short(value: string): string {
  return value.length > LONGEST ? `${value.slice(0, LONGEST)}…` : value
}

/** Nothing of it needs to be escaped. */
const PLAIN = /^[ !#-[\]-~]*$/

/** As it stands between the quotes of JSON. */
function inQuotes(value: string): string {
  const kept = short(value)
  return PLAIN.test(kept) ? kept : JSON.stringify(kept).slice(1, -1)
}

const DECIMALS = Array.from({ length: 1_000 }, (_, i) =>
  `.${String(i).padStart(3, "0")}`.replace(/\.?0+$/, ""),
)

/** To the microsecond. By hand: finding the shortest text of a fraction takes longer than all the rest of a line. */
function micros(ms: number): string {
  const whole = Math.round(ms * 1_000)
  const thousandths = whole % 1_000
  return `${(whole - thousandths) / 1_000}${DECIMALS[thousandths]}`
}

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
let lastIso = ""

/** The start of a line: its time, and the comma behind it. */
function startAt(ms: number): string {
  const second = Math.floor(ms / 1_000)
  if (second !== lastIsoSecond) {
    lastIsoSecond = second
    lastIso = ['{"time":"', new Date(second * 1_000).toISOString().slice(0, -"000Z".length)].join("")
  }
  return lastIso + MILLISECONDS[Math.floor(ms) - second * 1_000]
}

const MILLISECONDS = Array.from({ length: 1_000 }, (_, i) => `${String(i).padStart(3, "0")}Z",`)

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
