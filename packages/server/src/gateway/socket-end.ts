import type { Socket } from "node:net"

const listeners = new WeakMap<Socket, Set<() => void>>()

/**
 * Told when a socket has closed, on one listener for all. A client may send many requests ahead of their answers, and a socket
 * with a listener for each would be taken for a leak.
 */
export function onSocketEnd(socket: Socket, told: () => void): () => void {
  let all = listeners.get(socket)
  if (all === undefined) {
    const made = new Set<() => void>()
    all = made
    listeners.set(socket, made)
    socket.once("close", () => {
      for (const tell of made) tell()
    })
  }
  const set = all.add(told)
  return () => void set.delete(told)
}
