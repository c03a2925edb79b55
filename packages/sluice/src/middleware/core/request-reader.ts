import { type HeaderSource, headerOf } from "../../request/header-source.js"

export type { HeaderSource }

/** How a framework's request is read. Nothing is asked for that no option needs. */
export interface RequestReader<Request> {
  method(request: Request): string
  /** Path and query as they came: `/v1/items?page=2`. */
  target(request: Request): string
  headers(request: Request): HeaderSource
  /** The header lines as they came: name, value, name, value. Undefined where the framework does not keep them. */
  rawHeaders(request: Request): readonly string[] | undefined
  /** The address of whoever is connected; undefined where there is none. */
  peer(request: Request): string | undefined
  /** Who the framework itself says the client is, by its own settings. Counts unless `trustProxy` is given. Default: the peer. */
  ip?(request: Request): string | undefined
  /** Default: the `host` header. */
  host?(request: Request): string | undefined
  /** The application's own name for what was asked: `/items/:id`. */
  route?(request: Request): string | undefined
  /** An object of this request to keep notes on for later limits, which find it again. Default: the request itself. */
  notes?(request: Request): object
}

export function hostOf<Request>(reader: RequestReader<Request>, request: Request): string | undefined {
  return reader.host === undefined ? headerOf(reader.headers(request), "host") : reader.host(request)
}
