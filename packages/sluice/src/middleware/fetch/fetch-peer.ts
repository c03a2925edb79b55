/** What the servers of JavaScript runtimes tell about a connection. Each has its own way, and most say nothing else. */
interface Connection {
  /** Node, through @hono/node-server. */
  incoming?: { socket?: { remoteAddress?: unknown }; rawHeaders?: unknown }
  /** Bun's server. */
  requestIP?: (request: Request) => { address?: unknown } | null
  /** Deno's handler info. */
  remoteAddr?: { hostname?: unknown }
}

/**
 * The address of whoever is connected, as the runtime tells it beside the request: the second argument of a handler, or
 * hono's `env`. Undefined where it tells nothing; headers are never asked, because anybody can write one.
 */
export function peerOf(request: Request, told: unknown): string | undefined {
  const connection = connectionOf(told)
  if (connection === undefined) return undefined
  const { incoming, remoteAddr } = connection
  if (typeof incoming === "object") return text(incoming?.socket?.remoteAddress)
  if (typeof remoteAddr === "object") return text(remoteAddr?.hostname)
  return typeof connection.requestIP === "function" ? text(connection.requestIP(request)?.address) : undefined
}

/** The header lines as they came, where the runtime tells them: Node does, through @hono/node-server. */
export function rawHeadersOf(told: unknown): readonly string[] | undefined {
  const lines = connectionOf(told)?.incoming?.rawHeaders
  return Array.isArray(lines) ? lines : undefined
}

function connectionOf(told: unknown): Connection | undefined {
  if (typeof told !== "object" || told === null) return undefined
  const { server } = told as { server?: unknown }
  return (typeof server === "object" && server !== null ? server : told) as Connection
}

function text(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined
}
