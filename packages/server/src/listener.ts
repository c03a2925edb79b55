import type { AddressInfo, Server } from "node:net"

/** Something that listens on an address: one protocol of the service. */
export interface Listener {
  /** `host:port`, the port as it was given out. */
  readonly address: string
  /** Takes nothing new, lets what is under way finish, and after the deadline cuts what is left. */
  close(deadlineMs?: number): Promise<void>
}

/** `127.0.0.1:8080` or `[::1]:8080`, of a server that listens. */
export function addressOf(server: Pick<Server, "address">): string {
  const { address, family, port } = server.address() as AddressInfo
  return `${family === "IPv6" ? `[${address}]` : address}:${port}`
}
