// Connections that hold on to as much of a server as they can, and how much memory it has for them.

import { once } from "node:events"
import { readFileSync } from "node:fs"
import { connect, type Socket } from "node:net"
import { LOOPBACK } from "./ports.js"

/** How many connections a budget is for. */
export const HOSTILE = 1_000

/** Opens them, each of which sends the same and reads nothing. Returns what ends them. */
export async function openHostile(port: number, bytes: string | Buffer): Promise<() => void> {
  const sockets: Socket[] = []
  const sent = Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes, "latin1")
  while (sockets.length < HOSTILE) {
    const some = Array.from({ length: 100 }, () =>
      connect(port, LOOPBACK)
        .on("error", () => undefined)
        .pause(),
    )
    sockets.push(...some)
    await Promise.all(some.map((socket) => once(socket, "connect")))
    for (const socket of some) socket.write(sent)
  }
  return () => {
    for (const socket of sockets) socket.destroy()
  }
}

/** What a process holds once that does not grow any more, in MiB: the most that was seen. */
export async function settledMiB(pid: number | undefined): Promise<number> {
  let most = 0
  for (let quiet = 0; quiet < 3; ) {
    await new Promise((resolve) => setTimeout(resolve, 200))
    const status = readFileSync(`/proc/${pid}/status`, "utf8")
    const now = Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1]) / 1024
    quiet = now > most + 1 ? 0 : quiet + 1
    most = Math.max(most, now)
  }
  return most
}
