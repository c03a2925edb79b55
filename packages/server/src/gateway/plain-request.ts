import type { IncomingMessage, Server } from "node:http"
import type { Socket } from "node:net"
import type { Duplex } from "node:stream"

const SWITCHING = new Set(["connection", "upgrade", "http2-settings"])

/** Whether a client would rather speak HTTP/2 in clear, as Java's does of its own accord, also with a body. */
export function asksForHttp2({ headers }: IncomingMessage): boolean {
  return /(?:^|,)\s*h2c\s*(?:,|$)/i.test(headers.upgrade ?? "")
}

/**
 * Gives an upgrade that nobody follows back to its server, as the plain request that it also is: RFC 9110 lets a server ignore
 * an upgrade, but `node:http` has stopped reading at the end of the head. HTTP/2 in clear would carry requests past every rule.
 */
export function takeAsPlain(request: IncomingMessage, socket: Duplex, head: Buffer): void {
  const { method, url, httpVersion, rawHeaders } = request
  let text = `${method} ${url} HTTP/${httpVersion}\r\n`
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] as string
    if (!SWITCHING.has(name.toLowerCase())) text += `${name}: ${rawHeaders[i + 1]}\r\n`
  }
  const { server } = socket as Socket & { server: Server }
  socket.unshift(Buffer.concat([Buffer.from(`${text}\r\n`, "latin1"), head]))
  server.emit("encrypted" in socket ? "secureConnection" : "connection", socket)
}
