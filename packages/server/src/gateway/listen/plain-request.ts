import type { IncomingMessage } from "node:http"
import type { Socket } from "node:net"

/** What asks for HTTP/2 in clear: the headers, and the words of Connection. */
const SWITCHING = new Set(["upgrade", "http2-settings"])

/** Whether a client would rather speak HTTP/2 in clear, as Java's does of its own accord, also with a body. */
export function asksForHttp2({ headers }: IncomingMessage): boolean {
  return /(?:^|,)\s*h2c\s*(?:,|$)/i.test(headers.upgrade ?? "")
}

/**
 * Gives an upgrade that nobody follows back to its server, as the plain request that it also is: RFC 9110 lets a server ignore
 * an upgrade, but `node:http` has stopped reading at the end of the head. HTTP/2 in clear would carry requests past every rule.
 */
export function takeAsPlain(
  request: IncomingMessage,
  socket: Socket,
  rest: Buffer,
  serve: (socket: Socket) => void,
): void {
  const { method, url, httpVersion, rawHeaders } = request
  let text = `${method} ${url} HTTP/${httpVersion}\r\n`
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] as string
    const value = rawHeaders[i + 1] as string
    const key = name.toLowerCase()
    if (key === "connection") text += connectionLine(name, value)
    else if (!SWITCHING.has(key)) text += `${name}: ${value}\r\n`
  }
  socket.pause()
  socket.unshift(Buffer.concat([Buffer.from(`${text}\r\n`, "latin1"), rest]))
  serve(socket)
  socket.resume()
}

/** The other words say what else is for this connection only, and whether it ends. */
function connectionLine(name: string, value: string): string {
  const kept = value.split(",").filter((word) => !SWITCHING.has(word.trim().toLowerCase()))
  return kept.length === 0 ? "" : `${name}: ${kept.join(",")}\r\n`
}
