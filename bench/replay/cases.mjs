// What is replayed: a log of 20,000 clients, of which a few ask far more often than the others. Lines are up to three seconds
// late, as servers write them.

import { once } from "node:events"
import { createWriteStream } from "node:fs"
import { createGzip } from "node:zlib"

/** @typedef {{ at: number, ip: string, method: string, path: string }} Request */
/** @typedef {{ name: string, title: string, packed: boolean, write: (request: Request) => string }} Case */

/** @type {readonly Case[]} */
export const cases = [
  { name: "combined", title: "combined", packed: false, write: combinedLine },
  { name: "gzip", title: "combined, gzip", packed: true, write: combinedLine },
  { name: "caddy", title: "JSON lines of Caddy", packed: false, write: caddyLine },
]

export const RULES = `
version: 1
rules:
  - { id: per-address, keyBy: ip, limits: [{ limit: 100, window: 1m }] }
  - { id: api, match: { path: /v1/** }, keyBy: ip, limits: [{ algorithm: token-bucket, limit: 30, window: 1m }] }
  - { id: login, match: { method: POST, path: /login }, keyBy: ip, limits: [{ algorithm: sliding-window-log, limit: 5, window: 15m }] }
`

const CLIENTS = 20_000
const PATHS = [
  "/",
  "/blog/2026/05/hello",
  "/blog/tags/ops",
  "/v1/items?page=2",
  "/v1/items/42",
  "/v1/search?q=rate+limit",
  "/login",
  "/images/logo.png",
  "/style.css",
]
const AGENT = "Mozilla/5.0 (X11; Linux x86_64; rv:25.0) Gecko/20100101 Firefox/25.0"
const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

/**
 * Writes a log of so many lines, and resolves with its size in bytes.
 * @param {string} path
 * @param {Case} format
 * @param {number} lines
 */
export async function writeLog(path, { packed, write }, lines) {
  const file = createWriteStream(path)
  const out = packed ? createGzip({ level: 1 }) : file
  if (out !== file) out.pipe(file)
  let text = ""
  for (const request of requests(lines)) {
    text += `${write(request)}\n`
    if (text.length < 1_000_000) continue
    if (!out.write(text)) await once(out, "drain")
    text = ""
  }
  out.end(text)
  await once(file, "close")
  return file.bytesWritten
}

/**
 * The same for the same number.
 * @param {number} lines
 * @returns {Generator<Request>}
 */
function* requests(lines) {
  let state = 42
  const random = () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return state / 2 ** 32
  }
  let now = Date.UTC(2026, 4, 17, 10)
  for (let i = 0; i < lines; i++) {
    now += random() * 20
    const client = Math.floor(CLIENTS * random() ** 3)
    yield {
      at: now - (random() < 0.3 ? random() * 3_000 : 0),
      ip: `10.${client >> 16}.${(client >> 8) & 255}.${client & 255}`,
      method: random() < 0.9 ? "GET" : "POST",
      path: /** @type {string} */ (PATHS[Math.floor(random() * PATHS.length)]),
    }
  }
}

/** @param {Request} request */
function combinedLine({ at, ip, method, path }) {
  const date = new Date(at)
  const day = String(date.getUTCDate()).padStart(2, "0")
  const time = `${day}/${MONTHS[date.getUTCMonth()]}/${date.getUTCFullYear()}:${date.toISOString().slice(11, 19)}`
  return `${ip} - - [${time} +0000] "${method} ${path} HTTP/1.1" 200 5120 "https://example.com/start" "${AGENT}"`
}

/** @param {Request} request */
function caddyLine({ at, ip, method, path }) {
  const headers = { "User-Agent": [AGENT], "Accept-Encoding": ["gzip"] }
  const request = { remote_ip: ip, proto: "HTTP/2.0", method, host: "example.com", uri: path, headers }
  return JSON.stringify({ level: "info", ts: at / 1000, msg: "handled request", request, status: 200 })
}
