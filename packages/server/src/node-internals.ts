// The only file that depends on something Node does not document. Its tests have run on Node 20.20 only.
//
// node:cluster accepts a connection in the primary, sends it to a worker, and closes its own end once the worker confirms. If
// the worker is killed in between, Node keeps the connection open with nobody to read it, and the client waits until it gives
// up. There is no public event for this, so we watch the two messages of node:cluster. If a Node version changes them, the
// messages pass through untouched and such a client waits for its own time-out, as it does without this file.

import type { Worker } from "node:cluster"

interface Connection {
  close(): void
}

/** `newconn` carries a connection and its number to a worker. `ack` repeats the number when the worker has it. */
interface ClusterMessage {
  readonly act?: unknown
  readonly seq?: unknown
  readonly ack?: unknown
}

/** When the worker ends, closes the connections that were sent to it and that it never confirmed. */
export function closeOrphanedConnections(worker: Pick<Worker, "process" | "once">): void {
  const unconfirmed = new Map<unknown, Connection>()
  const child = worker.process
  const send = child.send.bind(child) as (...args: unknown[]) => boolean
  child.send = (message: unknown, connection?: unknown, ...rest: unknown[]) => {
    const { act, seq } = (message ?? {}) as ClusterMessage
    if (act === "newconn" && seq !== undefined && isConnection(connection)) unconfirmed.set(seq, connection)
    return send(message, connection, ...rest)
  }
  child.on("internalMessage", (message?: ClusterMessage) => {
    unconfirmed.delete(message?.ack)
  })
  worker.once("exit", () => {
    for (const connection of unconfirmed.values()) connection.close()
    unconfirmed.clear()
  })
}

function isConnection(value: unknown): value is Connection {
  return typeof (value as Connection | undefined)?.close === "function"
}
