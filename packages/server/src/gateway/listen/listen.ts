// The gateway's port: HTTP/1.1, or TLS with HTTP/1.1 and HTTP/2, whichever the client prefers.

import type { Certificate } from "../../certificates.js"
import type { Http1Handler } from "../../http1/connection.js"
import { type Http1Listener, listenHttp1 } from "../../http1/listener.js"
import { LAST_CALL_MS } from "../../listener.js"
import type { Gateway } from "../front/gateway.js"
import { createHttp2 } from "./listen-http2.js"

export interface GatewayListenerOptions {
  readonly host: string
  /** 0 takes any free port. */
  readonly port: number
  /** A listening socket, in place of host and port: one that outlives this process. */
  readonly fd?: number | undefined
  readonly gateway: Http1Handler & Pick<Gateway, "handleHttp2">
  /** Serves TLS. */
  readonly certificate?: Certificate | undefined
  /** Whether clients that speak TLS are offered HTTP/2. */
  readonly http2: boolean
  /** How long the head of a request may take to arrive; 0 means no limit. */
  readonly headTimeoutMs: number
  /** How long an idle connection is kept. */
  readonly keepAliveMs: number
  readonly maxHeaderBytes: number
  /** Headers of one request. Default: 128. */
  readonly maxHeaders?: number | undefined
  readonly maxConnections: number
  /** How long a client may receive nothing of an answer that is ready. Default: one minute. */
  readonly answerIdleMs?: number | undefined
}

/** For a TLS handshake, if heads have no time limit: the default of node:tls. */
const MAX_HANDSHAKE_MS = 120_000
const ANSWER_IDLE_MS = 60_000
const MAX_HEADERS = 128

export function listen(options: GatewayListenerOptions): Promise<Http1Listener> {
  const { host, port, fd, gateway, certificate, headTimeoutMs, keepAliveMs, maxHeaderBytes } = options
  const { answerIdleMs = ANSWER_IDLE_MS } = options
  const http2 =
    certificate !== undefined && options.http2 ? createHttp2({ ...options, answerIdleMs }) : undefined
  return listenHttp1({
    host,
    port,
    fd,
    handler: gateway,
    limits: {
      maxHeaderBytes,
      maxHeaders: options.maxHeaders ?? MAX_HEADERS,
      headTimeoutMs,
      // A body may take as long as it moves: the gateway has deadlines of its own for that.
      requestTimeoutMs: 0,
      keepAliveMs,
    },
    maxConnections: options.maxConnections,
    answerTimeoutMs: answerIdleMs,
    tls: certificate && {
      ...certificate,
      handshakeTimeoutMs: headTimeoutMs || MAX_HANDSHAKE_MS,
      http2: http2 && ((socket) => http2.take(socket)),
    },
    onClose: (deadlineMs) => http2?.sayGoodbye(Math.min(LAST_CALL_MS, deadlineMs)),
  })
}
