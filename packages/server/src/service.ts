import { once } from "node:events"
import { createServer, type RequestListener, type Server, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"

export interface ServiceOptions {
  readonly host: string
  /** 0 takes any free port. */
  readonly port: number
  readonly app: RequestListener
  /** How long a request that is under way at `close` may still take. */
  readonly graceMs?: number
  /** How long a request may take to arrive. */
  readonly requestTimeoutMs?: number
}

export interface Service {
  /** Where it answers, such as `http://127.0.0.1:8080`. */
  readonly url: string
  /** Takes no new connections, lets requests under way finish, and resolves when the last one has. */
  close(): Promise<void>
}

export async function startService(options: ServiceOptions): Promise<Service> {
  const { host, port, app, graceMs = 5000, requestTimeoutMs = 10_000 } = options
  // A client that sends a byte now and then must not hold a connection for ever.
  const server = createServer({
    headersTimeout: requestTimeoutMs,
    requestTimeout: requestTimeoutMs,
    connectionsCheckingInterval: Math.min(1000, requestTimeoutMs),
  })
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
    url: urlOf(server),
    close() {
      closed ??= closeServer(server, underWay, graceMs)
      return closed
    },
  }
}

async function closeServer(server: Server, underWay: Set<ServerResponse>, graceMs: number): Promise<void> {
  const closed = once(server, "close")
  server.close()
  for (const response of underWay) endConnectionWith(response)
  const hangUp = setTimeout(() => server.closeAllConnections(), graceMs)
  await closed
  clearTimeout(hangUp)
}

/** Without this the client would keep the connection for its next request, and the server would wait for it. */
function endConnectionWith(response: ServerResponse): void {
  if (!response.headersSent) response.setHeader("connection", "close")
}

function urlOf(server: Server): string {
  const { address, family, port } = server.address() as AddressInfo
  return `http://${family === "IPv6" ? `[${address}]` : address}:${port}`
}

/** What to tell a person whose server cannot listen. */
export function explainListenError(error: unknown, { host, port }: { host: string; port: number }): string {
  const code = error instanceof Error && "code" in error ? error.code : undefined
  switch (code) {
    case "EADDRINUSE":
      return `Port ${port} on ${host} is taken by another program. Stop it, or use another port:\n\n  PORT=${port + 1} npm start`
    case "EACCES":
      return `This user may not listen on port ${port}. Use a port above 1023:\n\n  PORT=8080 npm start`
    case "EADDRNOTAVAIL":
    case "ENOTFOUND":
      return `"${host}" is not an address of this machine. Use one that is:\n\n  HOST=127.0.0.1 npm start`
    default:
      return `Could not listen on ${host}, port ${port}: ${error instanceof Error ? error.message : String(error)}`
  }
}
