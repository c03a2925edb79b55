import { createSocket, type Socket } from "node:dgram"
import { createServer } from "node:net"

export const LOOPBACK = "127.0.0.1"

/**
 * Ports come from 10000–19999, and the Cluster bus port (port + 10000) from 20000–29999, for two reasons:
 * the two ranges do not overlap, and both are below the range that the system assigns to outgoing connections.
 * A client that reconnects in a loop to a dead port inside that range sooner or later gets the port as its own
 * source port and connects to itself; a restarted server would then find its port in use.
 */
const FIRST_PORT = 10_000
const PORT_COUNT = 10_000
export const BUS_PORT_OFFSET = 10_000

export interface ReservedPort {
  readonly port: number
  release(): Promise<void>
}

/**
 * Reserves a TCP port on loopback, on which this process may listen again and again.
 * The reservation is a UDP socket bound to the same number. The system gives it to only one process, and releases it
 * when that process dies. So parallel test processes never choose the same port, and no lock file can become stale.
 */
export async function reservePort(): Promise<ReservedPort> {
  for (let tries = 0; tries < 200; tries++) {
    const port = FIRST_PORT + Math.floor(Math.random() * PORT_COUNT)
    const lock = await bindUdp(port)
    if (lock === undefined) continue
    if ((await isFree(port)) && (await isFree(port + BUS_PORT_OFFSET))) {
      return { port, release: () => close(lock) }
    }
    await close(lock)
  }
  throw new Error(`no free port between ${FIRST_PORT} and ${FIRST_PORT + PORT_COUNT - 1} after 200 tries`)
}

function bindUdp(port: number): Promise<Socket | undefined> {
  return new Promise((resolve) => {
    const socket = createSocket("udp4")
    socket.once("error", () => {
      socket.close()
      resolve(undefined)
    })
    socket.bind({ address: LOOPBACK, port, exclusive: true }, () => {
      socket.unref()
      resolve(socket)
    })
  })
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once("error", () => resolve(false))
    server.listen({ host: LOOPBACK, port, exclusive: true }, () => {
      server.close(() => resolve(true))
    })
  })
}

const closed = new WeakSet<Socket>()

function close(socket: Socket): Promise<void> {
  if (closed.has(socket)) return Promise.resolve()
  closed.add(socket)
  return new Promise((resolve) => socket.close(() => resolve()))
}
