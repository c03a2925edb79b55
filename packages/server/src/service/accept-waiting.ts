import type { Server } from "node:net"

/** Turns of the event loop in a row without a new connection. The first one may be half over when it is counted. */
const QUIET_TURNS = 2
/** As many may wait: Node asks the system for a queue of 511. Clients that go on connecting must not keep it open. */
const MOST_WAITING = 512

/**
 * Accepts the connections that the system has made and this process has not taken yet. Call it before a server is closed:
 * closing resets them, and their clients have connected and may have sent a request. Resolves when none was left, at the
 * latest after so many milliseconds.
 */
export async function acceptWaiting(server: Server, withinMs: number): Promise<void> {
  const until = performance.now() + withinMs
  let accepted = 0
  let quiet = 0
  const taken = () => {
    accepted++
    quiet = -1
  }
  server.on("connection", taken)
  server.on("drop", taken)
  while (quiet < QUIET_TURNS && accepted < MOST_WAITING && performance.now() < until) {
    await new Promise((resolve) => setImmediate(resolve))
    quiet++
  }
  server.off("connection", taken)
  server.off("drop", taken)
}

/**
 * Calls back after some time, and after what has arrived by then was read: in a turn of the event loop timers come before
 * sockets, so that a connection that is ended by a timer may have a request waiting that nobody has looked at.
 */
export function lastCall(ms: number, callback: () => void): NodeJS.Timeout {
  return setTimeout(() => setImmediate(() => setImmediate(callback)), ms)
}
