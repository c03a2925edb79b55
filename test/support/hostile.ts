// Connections that hold on to as much of a server as they can, and how much memory it has for them.

import { once } from "node:events"
import { readFileSync } from "node:fs"
import { connect, type Socket } from "node:net"
import { LOOPBACK } from "./ports.js"

/** How many connections a budget is for. */
export const HOSTILE = 1_000

/** Not the address of the others: one client has its share of everything and no more. */
const HOSTILE_ADDRESS = "127.0.0.2"
const AT_ONCE = 100

/**
 * Opens them, each of which sends the same and reads nothing. Returns what ends them. `arrived` waits until the server has
 * dealt with so many of them.
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

/** What a process holds now, in MiB. */
export function residentMiB(pid: number | undefined): number {
  const status = readFileSync(`/proc/${pid}/status`, "utf8")
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1]) / 1024
}

/** What a process holds once that does not grow any more, in MiB: the most that was seen. */
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
