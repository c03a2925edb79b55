// Opens connections that make a server hold as much memory as possible, and measures that memory.

import { once } from "node:events"
import { readFileSync } from "node:fs"
import { connect, type Socket } from "node:net"
import { LOOPBACK } from "./ports.js"

/** The number of connections that a memory budget covers. */
export const HOSTILE = 1_000

/** Differs from the address of other clients, because the server bounds what one address may use. */
const HOSTILE_ADDRESS = "127.0.0.2"
const AT_ONCE = 100

/**
 * Opens `HOSTILE` connections. Each sends `bytes` and reads nothing. `arrived` must wait until the server has processed that
 * many connections. Returns a function that destroys all of them.
 */
export async function openHostile(
  port: number,
  bytes: string | Buffer,
  arrived: (count: number) => Promise<unknown> = async () => undefined,
): Promise<() => void> {
  const sockets: Socket[] = []
  const sent = Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes, "latin1")
  const address = { port, host: LOOPBACK, localAddress: HOSTILE_ADDRESS }
  while (sockets.length < HOSTILE) {
    const some = Array.from({ length: AT_ONCE }, () =>
      connect(address)
        .on("error", () => undefined)
        .pause(),
    )
    sockets.push(...some)
    await Promise.all(some.map((socket) => once(socket, "connect")))
    for (const socket of some) socket.write(sent)
    await arrived(sockets.length)
  }
  return () => {
    for (const socket of sockets) socket.destroy()
  }
}

/** The resident memory of a process, in MiB. */
export function residentMiB(pid: number | undefined): number {
  const status = readFileSync(`/proc/${pid}/status`, "utf8")
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1]) / 1024
}

/** Waits until the resident memory of a process stops growing, and returns the highest value it saw, in MiB. */
export async function settledMiB(pid: number | undefined): Promise<number> {
  let most = 0
  for (let quiet = 0; quiet < 3; ) {
    await new Promise((resolve) => setTimeout(resolve, 200))
    const now = residentMiB(pid)
    quiet = now > most + 1 ? 0 : quiet + 1
    most = Math.max(most, now)
  }
  return most
}
