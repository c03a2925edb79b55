import type { IncomingMessage } from "node:http"
import type { RequestReader } from "./request-reader.js"

/** Reads requests of `node:http`, and those of `node:http2` through its compatible interface. */
export const nodeRequestReader: RequestReader<IncomingMessage> = {
  method: (request) => request.method ?? "",
  target: (request) => request.url ?? "",
  headers: (request) => request.headers,
  peer: (request) => request.socket.remoteAddress,
  // HTTP/2 has no Host header of its own.
  host: ({ headers }) => headers.host ?? (headers[":authority"] as string | undefined),
}
