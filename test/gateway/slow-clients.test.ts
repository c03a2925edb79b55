// Clients that are as slow as they can be: they cost little, are disconnected, and do not delay others.

import { once } from "node:events"
import { connect, type Socket } from "node:net"
import { afterEach, beforeAll, describe, expect, it } from "vitest"
import { eventually } from "../support/eventually.js"
import { LOOPBACK } from "../support/ports.js"
import { buildServer, killAll } from "../support/service-process.js"
import { afterThis, openBackend } from "./bed.js"
import { startGatewayProcess } from "./gateway-process.js"

const COUNT = 1_000

beforeAll(() => buildServer(), 120_000)
afterEach(() => killAll())

/** So many connections, each of which sends the beginning of something and then a byte now and then. */
async function openSlow(port: number, beginning: string): Promise<Socket[]> {
  // Not from the address of the others: one client has its share of everything and no more.
  const address = { port, host: LOOPBACK, localAddress: "127.0.0.2" }
  const sockets = Array.from({ length: COUNT }, () => connect(address).on("error", () => undefined))
  await Promise.all(sockets.map((socket) => once(socket, "connect")))
  for (const socket of sockets) socket.resume().write(beginning)
  const timer = setInterval(() => {
    for (const socket of sockets) if (!socket.destroyed) socket.write("x")
  }, 500)
  afterThis(() => {
    clearInterval(timer)
    for (const socket of sockets) socket.destroy()
  })
  return sockets
}

describe("1,000 slow clients", () => {
  it.each([
    ["in the middle of a head", "GET / HTTP/1.1\r\nHost: a\r\nX: "],
    ["in the middle of a body", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\nx"],
  ])(
    "%s: others are answered at once, and memory stays flat",
    async (_, beginning) => {
      const backend = await openBackend((request, response) => {
        request.resume().on("end", () => response.end("from the backend"))
      })
      const gateway = await startGatewayProcess(backend)
      await (await fetch(gateway.url)).text()
      const before = gateway.peakMiB()
      await openSlow(gateway.port, beginning)
      const latencies: number[] = []
      for (let i = 0; i < 30; i++) {
        const started = performance.now()
        expect(await (await fetch(gateway.url)).text()).toBe("from the backend")
        latencies.push(performance.now() - started)
      }
      latencies.sort((a, b) => a - b)
      expect(latencies[15]).toBeLessThan(250)
      expect(gateway.peakMiB() - before).toBeLessThan(100)
    },
    60_000,
  )

  it("are disconnected when their heads do not arrive in time, and block others no longer", async () => {
    const backend = await openBackend()
    const gateway = await startGatewayProcess(backend, [
      "--limits.requestTimeout=1s",
      `--limits.connections=${COUNT}`,
    ])
    const sockets = await openSlow(gateway.port, "GET / HTTP/1.1\r\nHost: a\r\nX: ")
    await eventually(() => sockets.every(({ destroyed }) => destroyed), { within: 20_000 })
    await eventually(async () => (await (await fetch(gateway.url)).text()) === "from the backend")
    expect(backend.seen.length).toBeGreaterThan(0)
  }, 60_000)

  it("are disconnected when their bodies stall, which frees the upstream", async () => {
    const backend = await openBackend((request) => void request.resume())
    const gateway = await startGatewayProcess(backend, ["--gateway.deadlines.bodyIdle=500ms"])
    const sockets = Array.from({ length: COUNT }, () =>
      connect(gateway.port, LOOPBACK)
        .on("error", () => undefined)
        .resume(),
    )
    afterThis(() => sockets.forEach((socket) => void socket.destroy()))
    for (const socket of sockets)
      socket.write("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\nx")
    await eventually(() => sockets.every(({ destroyed }) => destroyed), { within: 20_000 })
    await eventually(
      () => new Promise((resolve) => backend.server.getConnections((_, count) => resolve(count === 0))),
    )
  }, 60_000)
})
