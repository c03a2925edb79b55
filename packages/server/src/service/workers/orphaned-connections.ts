// Connections that were handed to a worker which died before it took them.
//
// node:cluster accepts in the primary, sends the connection to a worker, and closes its own end once the worker says that it
// has it. A worker that is killed in between never says so; Node then keeps the connection open with nobody to read it, and
// the client waits until it gives up. Closed, it can ask again at once.

import type { Worker } from "node:cluster"

interface Connection {
  close(): void
}

/** What node:cluster sends with a connection, and what it is answered. */
interface ClusterMessage {
  readonly act?: string
  readonly seq?: number
  readonly ack?: number
}

export function closeUntakenOf(worker: Worker): void {
  const untaken = new Map<number, Connection>()
  const child = worker.process
  const send = child.send.bind(child) as (...args: unknown[]) => boolean
  child.send = (message: unknown, connection?: unknown, ...rest: unknown[]) => {
    const { act, seq } = message as ClusterMessage
    if (act === "newconn" && seq !== undefined && isConnection(connection)) untaken.set(seq, connection)
    return send(message, connection, ...rest)
  }
  child.on("internalMessage", ({ ack }: ClusterMessage) => {
    if (ack !== undefined) untaken.delete(ack)
  })
  worker.once("exit", () => {
    for (const connection of untaken.values()) connection.close()
    untaken.clear()
  })
}

function isConnection(value: unknown): value is Connection {
  return typeof (value as Connection | undefined)?.close === "function"
}
