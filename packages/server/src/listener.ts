// Sockets that listen: what every protocol of the service has in common.

import cluster from "node:cluster"
import { once } from "node:events"
import { type AddressInfo, Server } from "node:net"

/** Something that listens on an address: one protocol of the service. */
export interface Listener {
  /** `host:port`, with the port that the system assigned. */
  readonly address: string
  /** Accepts nothing new, lets requests in progress finish, and cuts the rest after the deadline. */
  close(deadlineMs?: number): Promise<void>
}

/** The address of a listening server: `127.0.0.1:8080` or `[::1]:8080`. */
export function addressOf(server: Pick<Server, "address">): string {
  const { address, family, port } = server.address() as AddressInfo
  return `${family === "IPv6" ? `[${address}]` : address}:${port}`
}

/** systemd passes its first socket as this descriptor. Those below are standard input, output and error. */
const FIRST_FD = 3

/**
 * The descriptor of a listening socket that systemd passed by socket activation (LISTEN_FDS, LISTEN_PID), or undefined. The
 * service manager owns that socket and keeps it open over a restart, so no connection is refused meanwhile.
 */
export function inheritedSocket(env: NodeJS.ProcessEnv = process.env): number | undefined {
  // A worker gets its sockets from the primary, so LISTEN_PID names the primary.
  const pid = cluster.isWorker ? process.ppid : process.pid
  return env.LISTEN_PID === String(pid) && Number(env.LISTEN_FDS) >= 1 ? FIRST_FD : undefined
}

/** How long a client may believe that its idle connection is open. A request may be on its way. */
export const LAST_CALL_MS = 500

export interface DrainSteps {
  /** Ends the connections on which nothing is under way. Called once they have had their last call. */
  endIdle?(): void
  /** Ends all connections. Called when the deadline has passed. */
  cut(): void
}

/** Stops listening, and resolves when the last connection has ended. Drops no request that a client has sent. */
export async function drain(server: Server, deadlineMs: number, { endIdle, cut }: DrainSteps): Promise<void> {
  await acceptWaiting(server, deadlineMs)
  const closed = once(server, "close")
  // The method of node:net: the one of node:http also ends idle connections, on which a request may just be arriving.
  Server.prototype.close.call(server)
  const ending = endIdle && lastCall(Math.min(LAST_CALL_MS, deadlineMs), endIdle)
  const cutting = setTimeout(cut, deadlineMs)
  await closed
  clearTimeout(ending)
  clearTimeout(cutting)
}

/** The queue counts as empty after this many turns of the event loop without a connection. The first may be half over. */
const QUIET_TURNS = 2
/** Node asks the system for a queue of 511 connections. The bound keeps new clients from holding the server open. */
const MAX_ACCEPTED = 512

/**
 * Accepts the connections that wait in the system's queue. Call it before closing a server: closing resets them, although
 * their clients have connected and may have sent a request. Resolves when the queue is empty, or after `withinMs`.
 */
export async function acceptWaiting(server: Server, withinMs: number): Promise<void> {
  const until = performance.now() + withinMs
  let accepted = 0
  let quiet = 0
  const onAccepted = () => {
    accepted++
    quiet = -1
  }
  server.on("connection", onAccepted)
  server.on("drop", onAccepted)
  while (quiet < QUIET_TURNS && accepted < MAX_ACCEPTED && performance.now() < until) {
    await new Promise((resolve) => setImmediate(resolve))
    quiet++
  }
  server.off("connection", onAccepted)
  server.off("drop", onAccepted)
}

/**
 * Calls back after `ms`, once everything that has arrived by then is read. The event loop runs timers before sockets, so a
 * timer that ends a connection directly could drop a request that is already in its buffer.
 */
function lastCall(ms: number, callback: () => void): NodeJS.Timeout {
  return setTimeout(() => setImmediate(() => setImmediate(callback)), ms)
}
