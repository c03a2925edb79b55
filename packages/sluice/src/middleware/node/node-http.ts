// What all frameworks on Node share: reading a request of node:http, and following its response to the end.

import type { IncomingMessage, ServerResponse } from "node:http"
import type { HeaderSource } from "../../request/header-source.js"
import type { Admission } from "../core/admission.js"
import type { RequestReader } from "../core/request-reader.js"

/** Reads requests of `node:http`, and of `node:http2` through its compatibility API. */
export const nodeRequestReader: RequestReader<IncomingMessage> = {
  method: (request) => request.method ?? "",
  target: (request) => request.url ?? "",
  headers: (request) => request.headers,
  rawHeaders: (request) => request.rawHeaders,
  peer: (request) => request.socket.remoteAddress,
  host: nodeHostOf,
  body: (request) => (request as { body?: unknown }).body,
}

/** The host that a request names. HTTP/2 requests may have `:authority` instead of a Host header. */
export function nodeHostOf({ headers }: IncomingMessage): string | undefined {
  return headers.host ?? (headers[":authority"] as string | undefined)
}

/** Settles the admission when the response closes. A client that leaves before the response was complete aborted it. */
export function settleOnClose(admission: Pick<Admission, "settle">, response: ServerResponse): void {
  const settle = (): void => {
    if (response.writableEnded) admission.settle(response.statusCode, headersOf(response))
    else admission.settle("aborted")
  }
  if (response.closed) settle()
  else response.once("close", settle)
}

/** The headers of a response by name. */
export function headersOf(response: { getHeader(name: string): unknown }): HeaderSource {
  return {
    get(name) {
      const value = response.getHeader(name)
      return value === undefined ? null : String(value)
    },
  }
}

/** Waits for the request's turn. Resolves to false when the client leaves first. */
export async function delayResponse(
  admission: Pick<Admission, "delay">,
  response: ServerResponse,
): Promise<boolean> {
  const gone = new AbortController()
  const onClose = (): void => gone.abort()
  if (response.closed) onClose()
  else response.once("close", onClose)
  try {
    return await admission.delay(gone.signal)
  } finally {
    response.removeListener("close", onClose)
  }
}
