import { once } from "node:events"
import { createServer, type RequestListener, type Server, type ServerResponse } from "node:http"
import { type AddressInfo, Server as NetServer } from "node:net"
import type { Listener } from "../listener.js"

export interface HttpListenerOptions {
  readonly host: string
  /** 0 takes any free port. */
  readonly port: number
  readonly app: RequestListener
  /** How long a request may take to arrive. */
  readonly requestTimeoutMs?: number
  /** How long an idle connection is kept. */
  readonly keepAliveMs?: number
  readonly maxHeaderBytes?: number
  readonly maxConnections?: number
}

/** How long `close` gives a client that believes its idle connection to be open. A request may be on its way. */
const LAST_CALL_MS = 500

/** Serves HTTP/1.1. Slow clients are cut, and closing drops no request. */
export async function startHttp(options: HttpListenerOptions): Promise<Listener> {
  const { host, port, app, requestTimeoutMs = 10_000, keepAliveMs = 65_000 } = options
  // A client that sends a byte now and then must not hold a connection for ever.
  const server = createServer({
    headersTimeout: requestTimeoutMs,
    requestTimeout: requestTimeoutMs,
    connectionsCheckingInterval: Math.min(1_000, requestTimeoutMs),
    keepAliveTimeout: keepAliveMs,
    maxHeaderSize: options.maxHeaderBytes ?? 16_384,
    // Small answers must not wait for more.
    noDelay: true,
  })
  server.maxConnections = options.maxConnections ?? 10_000
  const underWay = new Set<ServerResponse>()
  server.on("request", (request, response) => {
    if (!server.listening) endConnectionWith(response)
    underWay.add(response)
    response.on("close", () => underWay.delete(response))
    app(request, response)
  })
  server.listen(port, host)
  await once(server, "listening")
  let closed: Promise<void> | undefined
  return {
    address: addressOf(server),
    close(deadlineMs = 10_000) {
      closed ??= close(server, underWay, deadlineMs)
      return closed
    },
  }
}

async function close(server: Server, underWay: Set<ServerResponse>, deadlineMs: number): Promise<void> {
  const closed = once(server, "close")
  // That of net only: the one of http also ends idle connections, on which the next request may just be arriving.
  NetServer.prototype.close.call(server)
  for (const response of underWay) endConnectionWith(response)
  const lastCall = setTimeout(() => server.closeIdleConnections(), Math.min(LAST_CALL_MS, deadlineMs))
  const hangUp = setTimeout(() => server.closeAllConnections(), deadlineMs)
  await closed
  clearTimeout(lastCall)
  clearTimeout(hangUp)
  // Stops the timer that looks for slow clients.
  server.close()
}

/** Without this the client would keep the connection for its next request, and the server would wait for it. */
function endConnectionWith(response: ServerResponse): void {
  if (!response.headersSent) response.setHeader("connection", "close")
}

/** `127.0.0.1:8080` or `[::1]:8080`. */
export function addressOf(server: NetServer): string {
  const { address, family, port } = server.address() as AddressInfo
  return `${family === "IPv6" ? `[${address}]` : address}:${port}`
}
