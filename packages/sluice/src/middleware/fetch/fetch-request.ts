// Reads what a fetch `Request` and the runtime behind it tell of a request.

import type { RequestReader } from "../core/request-reader.js"
import { addressAdvice, platformAddress } from "./platform.js"

/** Returns path and query of an absolute URL, without parsing it: `/items?page=2`. */
export function targetOf(url: string): string {
  const start = url.indexOf("/", url.indexOf("://") + 3)
  if (start === -1) return "/"
  const end = url.indexOf("#", start)
  return url.slice(start, end === -1 ? undefined : end)
}

/**
 * Reads a `Request`. The client's address is not in it: the runtime passes it beside the request, `ip` returns it, or the
 * platform tells it by a header.
 */
export function fetchRequestReader<R extends Request>(
  infoOf: (request: R) => unknown,
  ip: ((request: R, info: unknown) => string | undefined) | undefined,
): RequestReader<R> {
  const ofPlatform = platformAddress()
  const reader = {
    method: (request: R) => request.method,
    target: (request: R) => targetOf(request.url),
    headers: (request: R) => request.headers,
    rawHeaders: (request: R) => rawHeadersOf(infoOf(request)),
    host: (request: R) => request.headers.get("host") ?? new URL(request.url).host,
  }
  if (ip !== undefined) {
    return { ...reader, peer: (request) => ip(request, infoOf(request)), trustsProxy: () => true }
  }
  return {
    ...reader,
    peer: (request) => ofPlatform?.(request) ?? peerOf(request, infoOf(request)),
    trustsProxy: (request) => ofPlatform?.(request) !== undefined,
    addressAdvice: (request) => (hasConnection(infoOf(request)) ? undefined : addressAdvice()),
  }
}

/** What the servers of JavaScript runtimes pass beside a request. */
interface Connection {
  /** Node, through @hono/node-server. */
  incoming?: { socket?: { remoteAddress?: unknown }; rawHeaders?: unknown }
  /** Bun's server. */
  requestIP?: (request: Request) => { address?: unknown } | null
  /** Deno's handler info. */
  remoteAddr?: { hostname?: unknown }
}

/**
 * Returns the peer's address from what the runtime passes beside the request: the second argument of a handler, or hono's
 * `env`. Returns undefined when it is not there.
 */
export function peerOf(request: Request, info: unknown): string | undefined {
  const connection = connectionOf(info)
  if (connection === undefined) return undefined
  const { incoming, remoteAddr } = connection
  if (typeof incoming === "object") return text(incoming?.socket?.remoteAddress)
  if (typeof remoteAddr === "object") return text(remoteAddr?.hostname)
  return typeof connection.requestIP === "function" ? text(connection.requestIP(request)?.address) : undefined
}

/** Whether the runtime has passed its connection. The address may still be missing: the client may have disconnected. */
export function hasConnection(info: unknown): boolean {
  const connection = connectionOf(info)
  return ["incoming", "remoteAddr", "requestIP"].some(
    (name) => connection !== undefined && name in connection,
  )
}

/** Returns the header lines as sent, if the runtime passes them: Node does, through @hono/node-server. */
export function rawHeadersOf(info: unknown): readonly string[] | undefined {
  const lines = connectionOf(info)?.incoming?.rawHeaders
  return Array.isArray(lines) ? lines : undefined
}

function connectionOf(info: unknown): Connection | undefined {
  if (typeof info !== "object" || info === null) return undefined
  const { server } = info as { server?: unknown }
  return (typeof server === "object" && server !== null ? server : info) as Connection
}

function text(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined
}
