import type { Server, Socket } from "node:net"

/**
 * Hands each connection of an HTTP server, once it is encrypted if it is to be, to somebody else first, who may give it to
 * the server after all: as it is, or with bytes that were read of it put back.
 */
export function divert(server: Server, take: (socket: Socket, toServer: () => void) => void): void {
  const event = "setSecureContext" in server ? "secureConnection" : "connection"
  // The first is that of `node:http` itself.
  const [toServer] = server.listeners(event) as ((socket: Socket) => void)[]
  if (toServer === undefined) return
  server.off(event, toServer)
  server.prependListener(event, (socket: Socket) => take(socket, () => toServer.call(server, socket)))
}
