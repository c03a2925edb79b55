import type { Request as ExpressRequest } from "express"
import type { FastifyRequest } from "fastify"
import type { RequestDecision } from "../core/passage.js"
import type { RequestReader } from "../core/request-reader.js"
import { expressRequestReader } from "../express/express-request.js"
import { fastifyRequestReader } from "../fastify/fastify-request.js"

/** What requests have in common on all platforms. Whoever knows the platform may ask for its own type instead. */
export interface NestRequest {
  readonly method: string
  readonly url: string
  readonly originalUrl: string
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly ip?: string | undefined
  /** What the last rate limit on the way here decided. */
  rateLimit?: RequestDecision | null
}

/** Requests of platform-fastify and platform-express. */
export const nestRequestReader: RequestReader<object> = {
  method: (request) => readerOf(request).method(request),
  target: (request) => readerOf(request).target(request),
  headers: (request) => readerOf(request).headers(request),
  rawHeaders: (request) => readerOf(request).rawHeaders(request),
  peer: (request) => readerOf(request).peer(request),
  host: (request) => readerOf(request).host?.(request),
  ip: (request) => readerOf(request).ip?.(request),
  route: (request) => readerOf(request).route?.(request),
  notes: (request) => readerOf(request).notes?.(request) ?? request,
}

function readerOf(request: object): RequestReader<object> {
  // Only fastify wraps the request of node:http; that of express is one.
  return "raw" in request ? (forFastify as RequestReader<object>) : (forExpress as RequestReader<object>)
}

const forFastify: RequestReader<FastifyRequest> = fastifyRequestReader
const forExpress: RequestReader<ExpressRequest> = expressRequestReader
