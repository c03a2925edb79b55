// Reads what a fetch `Request` and the runtime behind it tell of a request.

import type { RequestReader } from "../core/request-reader.js"

/** Returns path and query of an absolute URL, without parsing it: `/items?page=2`. */
export function targetOf(url: string): string {
  const start = url.indexOf("/", url.indexOf("://") + 3)
  if (start === -1) return "/"
  const end = url.indexOf("#", start)
  return url.slice(start, end === -1 ? undefined : end)
}

/** Reads a `Request`. The client's address is not in it: the runtime passes it beside the request. */
export function fetchRequestReader<R extends Request>(
  peer: (request: R) => string | undefined,
  rawHeaders: (request: R) => readonly string[] | undefined,
): RequestReader<R> {
  return {
    method: (request) => request.method,
    target: (request) => targetOf(request.url),
    headers: (request) => request.headers,
    rawHeaders,
    host: (request) => request.headers.get("host") ?? new URL(request.url).host,
    peer,
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
 * `env`. Returns undefined when it is not there. Headers are never used, because any client can send them.
 */
export function peerOf(request: Request, info: unknown): string | undefined {
  const connection = connectionOf(info)
  if (connection === undefined) return undefined
  const { incoming, remoteAddr } = connection
  if (typeof incoming === "object") return text(incoming?.socket?.remoteAddress)
  if (typeof remoteAddr === "object") return text(remoteAddr?.hostname)
  return typeof connection.requestIP === "function" ? text(connection.requestIP(request)?.address) : undefined
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
