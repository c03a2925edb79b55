import type { Http1Handler } from "../http1/connection.js"
import { listenHttp1 } from "../http1/listener.js"
import type { Listener } from "../listener.js"

export interface CheckApiListenerOptions {
  readonly host: string
  /** 0 takes any free port. */
  readonly port: number
  readonly handler: Http1Handler
  /** How long a request may take to arrive. Default: 10 s. */
  readonly requestTimeoutMs?: number
  /** How long a client may leave an answer unread. Default: 30 s. */
  readonly answerTimeoutMs?: number
  /** How long an idle connection is kept. Default: 65 s. */
  readonly keepAliveMs?: number
  /** Default: 16 KiB. */
  readonly maxHeaderBytes?: number
  /** Default: 10,000. */
  readonly maxConnections?: number
}

/** Far more than programs and proxies send. */
const MAX_HEADERS = 1_000

export function listenForChecks(options: CheckApiListenerOptions): Promise<Listener> {
  const { host, port, handler, requestTimeoutMs = 10_000 } = options
  return listenHttp1({
    host,
    port,
    handler,
    limits: {
      maxHeaderBytes: options.maxHeaderBytes ?? 16_384,
      maxHeaders: MAX_HEADERS,
      headTimeoutMs: requestTimeoutMs,
      requestTimeoutMs,
      keepAliveMs: options.keepAliveMs ?? 65_000,
    },
    maxConnections: options.maxConnections ?? 10_000,
    answerTimeoutMs: options.answerTimeoutMs ?? 30_000,
  })
}
