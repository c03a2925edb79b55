import type { Server, Socket } from "node:net"

/**
 * Hands each connection of an HTTP server, once it is encrypted if it is to be, to somebody else first, who may give it to
 * the server after all: as it is, with bytes that were read of it put back, or as another socket that it has moved to.
 */
export function divert(
  server: Server,
  take: (socket: Socket, toServer: (moved?: Socket) => void) => void,
): void {
  const event = "setSecureContext" in server ? "secureConnection" : "connection"
  // The first is that of `node:http` itself.
  const [toServer] = server.listeners(event) as ((socket: Socket) => void)[]
  if (toServer === undefined) return
  server.off(event, toServer)
  server.prependListener(event, (socket: Socket) =>
    take(socket, (moved = socket) => toServer.call(server, moved)),
  )
}
