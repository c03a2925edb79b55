import type { IncomingHttpHeaders, IncomingMessage } from "node:http"

/** A request as the gateway reads it, whichever way it came in. */
export interface ClientRequest
  extends Pick<
    IncomingMessage,
    "method" | "url" | "httpVersion" | "httpVersionMajor" | "httpVersionMinor" | "socket"
  > {
  /** To be read only: the next request of its connection may have the same. */
  readonly headers: Readonly<IncomingHttpHeaders>
  readonly rawHeaders: readonly string[]
  /** Its whole body, where that came with the head. Undefined where there is none, or it is still to be read. */
  readonly body?: Buffer | undefined
}

/**
 * Whether a client speaks HTTP/2: its response then is the one of `node:http2`, which looks nearly the same. Not told by the
 * version: that is what the client wrote, and over HTTP/1.1 it can write 2.0.
 */
export function isHttp2(request: ClientRequest): boolean {
  return "stream" in request
}
