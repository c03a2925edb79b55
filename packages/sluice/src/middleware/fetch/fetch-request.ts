import type { RequestReader } from "../core/request-reader.js"

/** Path and query of a URL that is known to be absolute, without taking it apart: `/items?page=2`. */
export function targetOf(url: string): string {
  const start = url.indexOf("/", url.indexOf("://") + 3)
  if (start === -1) return "/"
  const end = url.indexOf("#", start)
  return url.slice(start, end === -1 ? undefined : end)
}

/** Reads a `Request`. Its address is told by the runtime, not by the request. */
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
