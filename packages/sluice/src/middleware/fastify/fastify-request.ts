import type { FastifyRequest } from "fastify"
import type { RequestReader } from "../core/request-reader.js"
import { nodeRequestReader } from "../node/node-request.js"

export const fastifyRequestReader: RequestReader<FastifyRequest> = {
  method: (request) => request.method,
  target: (request) => request.originalUrl,
  headers: (request) => request.headers,
  rawHeaders: (request) => request.raw.rawHeaders,
  peer: (request) => request.socket.remoteAddress,
  host: (request) => nodeRequestReader.host?.(request.raw),
  // By the `trustProxy` that fastify itself was given.
  ip: (request) => request.ip,
  route: (request) => request.routeOptions.url,
}
