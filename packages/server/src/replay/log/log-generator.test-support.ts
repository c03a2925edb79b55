// Logs with a known truth, in every format: a few hundred thousand requests of clients that behave in ways one can count.

import { gzipSync } from "node:zlib"

/** One request as the generator means it, before any format. */
export interface MeantRequest {
  /** Milliseconds since 1970; whole seconds unless asked for otherwise. */
  readonly at: number
  readonly ip: string
  readonly method: string
  readonly host: string
  readonly path: string
  readonly agent: string
}

export interface TrafficOptions {
  readonly seed?: number
  readonly requests?: number
  readonly clients?: number
  /** The mean time between two requests, in milliseconds. */
  readonly everyMs?: number
  readonly from?: number
}

/** Numbers that look random and are the same for the same seed. */
export function randomNumbers(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return state / 2 ** 32
  }
}

const PATHS = [
  "/",
  "/blog/hello",
  "/blog/tags/ops?page=2",
  "/v1/items",
  "/v1/items/42",
  "/login",
  "/logo.png",
]

/** Requests in order of time; low-numbered clients ask far more often than the others. */
export function traffic(options: TrafficOptions = {}): MeantRequest[] {
  const { seed = 1, requests = 2_000, clients = 50, everyMs = 400 } = options
  const random = randomNumbers(seed)
  let at = options.from ?? Date.UTC(2026, 4, 17, 10, 5, 0)
  return Array.from({ length: requests }, () => {
    at += random() * 2 * everyMs
    const client = Math.floor(clients * random() ** 2)
    return {
      at: Math.floor(at / 1000) * 1000,
      ip: `198.51.${client >> 8}.${client & 255}`,
      method: random() < 0.8 ? "GET" : "POST",
      host: "shop.example.com",
      path: PATHS[Math.floor(random() * PATHS.length)] as string,
      agent: client % 7 === 0 ? 'crawler "9"' : "Mozilla/5.0 (X11)",
    }
  })
}

/** The same requests as servers write them: each up to `spreadMs` later than its turn. Lines keep their times. */
export function disordered(requests: readonly MeantRequest[], spreadMs: number, seed = 7): MeantRequest[] {
  const random = randomNumbers(seed)
  return requests
    .map((request) => ({ request, written: request.at + random() * spreadMs }))
    .sort((a, b) => a.written - b.written)
    .map(({ request }) => request)
}

const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

/** `17/May/2026:12:05:00 +0200`: in another zone, which a reader has to take off again. */
function clfTime(at: number): string {
  const local = new Date(at + 2 * 3_600_000)
  const day = String(local.getUTCDate()).padStart(2, "0")
  return `${day}/${MONTHS[local.getUTCMonth()]}/${local.getUTCFullYear()}:${local.toISOString().slice(11, 19)} +0200`
}

const iso = (at: number) => new Date(at).toISOString()
const quoted = (text: string) => text.replaceAll('"', '\\"')

/** Each format as its server writes it. */
export const writers = {
  common: ({ at, ip, method, path }: MeantRequest) =>
    `${ip} - - [${clfTime(at)}] "${method} ${path} HTTP/1.1" 200 512`,
  combined: (request: MeantRequest) =>
    `${writers.common(request)} "https://example.com/" "${quoted(request.agent)}"`,
  nginx: ({ at, ip, method, host, path, agent }: MeantRequest) =>
    `${iso(at).replace(".000Z", "+00:00")}|${host}|${ip}|${method} ${path} HTTP/2.0|${agent.replaceAll('"', "\\x22")}|0.004`,
  caddy: ({ at, ip, method, host, path, agent }: MeantRequest) =>
    JSON.stringify({
      level: "info",
      ts: at / 1000,
      logger: "http.log.access.log0",
      msg: "handled request",
      request: {
        remote_ip: ip,
        remote_port: "41342",
        client_ip: ip,
        proto: "HTTP/2.0",
        method,
        host,
        uri: path,
        headers: { "User-Agent": [agent] },
      },
      user_id: "",
      status: 200,
    }),
  traefik: ({ at, ip, method, host, path, agent }: MeantRequest) =>
    JSON.stringify({
      ClientAddr: `${ip}:50514`,
      ClientHost: ip,
      ClientUsername: "-",
      DownstreamStatus: 200,
      RequestHost: host,
      RequestMethod: method,
      RequestPath: path,
      RequestProtocol: "HTTP/1.1",
      StartUTC: iso(at).replace("Z", "000000Z"),
      "request_User-Agent": agent,
      level: "info",
      time: iso(at + 3),
    }),
  envoy: ({ at, ip, method, host, path, agent }: MeantRequest) =>
    `[${iso(at)}] "${method} ${path} HTTP/1.1" 200 - 0 512 4 3 "10.0.0.9, ${ip}" "${quoted(agent)}" "a-1" "${host}" "10.0.0.1:80"`,
  envoyJson: ({ at, ip, method, host, path, agent }: MeantRequest) =>
    JSON.stringify({
      start_time: iso(at),
      method,
      path,
      authority: host,
      downstream_remote_address: `${ip}:40123`,
      user_agent: agent,
      response_code: 200,
    }),
  alb: ({ at, ip, method, host, path, agent }: MeantRequest) =>
    `h2 ${iso(at).replace("Z", "000Z")} app/lb/50dc6c495c0c9188 ${ip}:2817 10.0.0.1:80 0.000 0.001 0.000 200 200 34 366 "${method} https://${host}:443${path} HTTP/2.0" "${quoted(agent)}" ECDHE TLSv1.2 arn:aws:x "Root=1-58" "${host}" "arn" 0 ${iso(at)} "forward" "-" "-"`,
  cloudfront: ({ at, ip, method, host, path, agent }: MeantRequest) => {
    const [stem, query = "-"] = path.split("?")
    const [day, time] = iso(at).split("T") as [string, string]
    const sent = encodeURIComponent(agent)
    return [
      day,
      time.slice(0, 8),
      "FRA6",
      "512",
      ip,
      method,
      "d111.cloudfront.net",
      stem,
      "200",
      "-",
      sent,
      query,
      "-",
      "Hit",
      "r1==",
      host,
      "https",
    ].join("\t")
  },
  csv: ({ at, ip, method, host, path, agent }: MeantRequest) =>
    `${at},${ip},${method},${host},"${path}","${agent.replaceAll('"', '""')}"`,
} as const

export type WrittenFormat = keyof typeof writers

/** What stands above the lines. */
const HEADS: Partial<Record<WrittenFormat, string>> = {
  cloudfront:
    "#Version: 1.0\n#Fields: date time x-edge-location sc-bytes c-ip cs-method cs(Host) cs-uri-stem sc-status cs(Referer) cs(User-Agent) cs-uri-query cs(Cookie) x-edge-result-type x-edge-request-id x-host-header cs-protocol\n",
  csv: "timestamp,client_ip,method,host,path,agent\n",
}

/** The `log_format` that lines of `nginx` here are written by. */
export const NGINX_FORMAT = "$time_iso8601|$host|$remote_addr|$request|$http_user_agent|$request_time"

export function written(format: WrittenFormat, requests: readonly MeantRequest[]): Buffer {
  return Buffer.from(
    `${HEADS[format] ?? ""}${requests.map((request) => `${writers[format](request)}\n`).join("")}`,
  )
}

/** In pieces that end anywhere, as a stream brings them. */
export function* inChunks(bytes: Uint8Array, size = 997): Generator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}

export function packed(bytes: Uint8Array): Uint8Array {
  // Two members, as appended and rotated files have.
  const half = bytes.length >> 1
  return Buffer.concat([gzipSync(bytes.subarray(0, half)), gzipSync(bytes.subarray(half))])
}
