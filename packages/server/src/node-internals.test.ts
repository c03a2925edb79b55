import type { Worker } from "node:cluster"
import { EventEmitter } from "node:events"
import { describe, expect, it, vi } from "vitest"
import { closeOrphanedConnections } from "./node-internals.js"

/** A worker that records what the primary sends to it. */
function fakeWorker() {
  const sent: unknown[][] = []
  const child = Object.assign(new EventEmitter(), {
    send: (...args: unknown[]) => {
      sent.push(args)
      return true
    },
  })
  const worker = Object.assign(new EventEmitter(), { process: child })
  closeOrphanedConnections(worker as unknown as Worker)
  return { worker, child, sent }
}

describe("closeOrphanedConnections", () => {
  it("closes the connections that a dead worker has not confirmed, and no others", () => {
    const { worker, child, sent } = fakeWorker()
    const confirmed = { close: vi.fn() }
    const orphaned = { close: vi.fn() }
    child.send({ act: "newconn", seq: 1 }, confirmed)
    child.send({ act: "newconn", seq: 2 }, orphaned)
    child.emit("internalMessage", { ack: 1 })
    worker.emit("exit", null, "SIGKILL")
    expect(confirmed.close).not.toHaveBeenCalled()
    expect(orphaned.close).toHaveBeenCalledOnce()
    expect(sent).toHaveLength(2)
  })

  it("passes on messages of any other form, and closes nothing, should Node change them", () => {
    const { worker, child, sent } = fakeWorker()
    const connection = { close: vi.fn() }
    const done = () => {}
    for (const message of [{ act: "connection", id: 1 }, { cmd: "NODE_CLUSTER" }, "text", null, undefined])
      expect(child.send(message, connection, undefined, done)).toBe(true)
    child.emit("internalMessage", undefined)
    child.emit("internalMessage", { confirmed: 1 })
    worker.emit("exit", 0, null)
    expect(connection.close).not.toHaveBeenCalled()
    expect(sent[0]).toEqual([{ act: "connection", id: 1 }, connection, undefined, done])
    expect(sent).toHaveLength(5)
  })
})
