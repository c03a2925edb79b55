import { createServer, type RequestListener } from "node:http"
import type { AddressInfo } from "node:net"

/** A request as a server saw it. */
export interface Seen {
  readonly method: string
  readonly url: string
  readonly body: string
}

export interface PlainServer {
  readonly port: number
  /** Whoever looks takes them out. */
  readonly seen: Seen[]
  /** Bytes that it received and that are not HTTP. */
  readonly malformed: string[]
  close(): void
}

/** Node's own server: it records every request, and answers all of them. */
export async function openPlainServer(): Promise<PlainServer> {
  const seen: Seen[] = []
  const malformed: string[] = []
  const answer: RequestListener = (request, response) => {
    const { method = "", url = "" } = request
    const at = seen.push({ method, url, body: "" }) - 1
    let body = ""
    request.setEncoding("latin1").on("data", (text) => {
      body += text
    })
    request.on("error", () => {})
    request.on("end", () => {
      if (seen[at] !== undefined) seen[at] = { method, url, body }
      // Without the length Node ends a connection of HTTP/1.0 although the client asked to keep it.
      response.setHeader("content-length", 2).end("ok")
    })
  }
  const server = createServer(answer)
  // Node answers 417 by itself; RFC 9110, 10.1.1 allows to ignore what is expected, as all of ours do.
  server.on("checkExpectation", answer)
  server.on("clientError", (error: NodeJS.ErrnoException & { rawPacket?: Buffer }, socket) => {
    if (error.code?.startsWith("HPE_") && error.code !== "HPE_INVALID_EOF_STATE")
      malformed.push(`${error.code}: ${error.rawPacket?.toString("latin1").slice(0, 200)}`)
    if (socket.writable) socket.end("HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n")
    else socket.destroy()
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const close = () => {
    server.closeAllConnections()
    server.close()
  }
  return { port: (server.address() as AddressInfo).port, seen, malformed, close }
}
