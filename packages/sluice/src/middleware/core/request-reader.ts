import { type HeaderSource, headerOf } from "../../request/header-source.js"

/** Reads a framework's request. Only what the options need is read. */
export interface RequestReader<Request> {
  method(request: Request): string
  /** Path and query as sent: `/v1/items?page=2`. */
  target(request: Request): string
  headers(request: Request): HeaderSource
  /** The header lines as sent: name, value, name, value. Undefined when the framework does not keep them. */
  rawHeaders(request: Request): readonly string[] | undefined
  /** The address of the other end of the connection, if it has one. */
  peer(request: Request): string | undefined
  /** The client's address by the framework's own settings. Used unless `trustProxy` is given. Default: the peer. */
  ip?(request: Request): string | undefined
  /** Whether the framework's own settings trust a proxy, or the application reads the address itself. Default: no. */
  trustsProxy?(request: Request): boolean
  /** The framework's own setting for an application behind a proxy, as code: `app.proxy = true`. */
  trustSetting?(request: Request): string
  /** The framework's setting by which any client can choose the address that it is counted by, if it is so. */
  trustMistake?(request: Request): string | undefined
  /** How to make the client's address known, if nothing tells it here. */
  addressAdvice?(request: Request): string | undefined
  /** Whether one request may be counted more than once on purpose. Default: false. */
  mayRepeat?: boolean
  /** Default: the `host` header. */
  host?(request: Request): string | undefined
  /** The pattern of the application's route: `/items/:id`. */
  route?(request: Request): string | undefined
  /** The body, if a parser that ran before has left it on the request. */
  body?(request: Request): unknown
}

/** The host that the request names. */
export function hostOf<Request>(reader: RequestReader<Request>, request: Request): string | undefined {
  return reader.host === undefined ? headerOf(reader.headers(request), "host") : reader.host(request)
}
