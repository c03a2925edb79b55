import type { IncomingMessage } from "node:http"
import type { RequestReader } from "../core/request-reader.js"

/** Reads requests of `node:http`, and those of `node:http2` through its compatible interface. */
export const nodeRequestReader: RequestReader<IncomingMessage> = {
  method: (request) => request.method ?? "",
  target: (request) => request.url ?? "",
  headers: (request) => request.headers,
  rawHeaders: (request) => request.rawHeaders,
  peer: (request) => request.socket.remoteAddress,
  // HTTP/2 has no Host header of its own.
  host: ({ headers }) => headers.host ?? (headers[":authority"] as string | undefined),
  notes: localsOf,
}

/**
 * The `res.locals` of express, also for a middleware of plain Node under it. Express changes the prototype of each request,
 * after which the engine gives it a hidden class that no other request has. To add a property then makes one more such
 * class, and to read one misses every cache; `Reflect.get` does not use them.
 */
function localsOf(request: IncomingMessage): object {
  const response: unknown = Reflect.get(request, "res")
  if (typeof response !== "object" || response === null) return request
  const locals: unknown = Reflect.get(response, "locals")
  return typeof locals === "object" && locals !== null ? locals : request
}
