import type { UploadRate } from "../front/upload-pace.js"
import type { Upstream } from "../upstream/upstream.js"

/** How long the parts of an exchange with an upstream may take, in milliseconds; 0 is for ever. */
export interface Deadlines {
  /** Until the connection stands, TLS included. */
  readonly connect: number
  /** From the last byte of the request to the end of the answer's head. */
  readonly headers: number
  /** Between two pieces of a body, in either direction. */
  readonly bodyIdle: number
  /** The whole, from the request's head to the last byte of the answer. */
  readonly total: number
}

/** Which upstream answers a request, and how it is forwarded. */
export interface Route {
  readonly name: string
  readonly upstream: Upstream
  readonly deadlines: Deadlines
  /** How fast clients must send bodies. Default: as slowly as they like, but for `deadlines.bodyIdle`. */
  readonly uploads?: UploadRate | undefined
  /** Whether the upstream sees the client's Host, or its own. */
  readonly keepHost: boolean
  /** Whether the upstream sees X-HTTP-Method-Override and its like. Default: no. */
  readonly passesMethodOverride?: boolean | undefined
  /** Cut off the front of the path that is forwarded: `/api` makes `/` of `/api` and `/x` of `/api/x`. */
  readonly stripPrefix?: string | undefined
}

export interface RouteTable {
  /** `host` as the client sent it, `path` in its canonical form without the query. */
  find(host: string | undefined, path: string): Route | undefined
}
