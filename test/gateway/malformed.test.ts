// Generated nonsense through the gateway: it is refused, or what reaches the upstream is well formed.

import { connect } from "node:net"
import { expect, it } from "vitest"
import { generators, randomOf } from "../service/malformed.js"
import { eventually } from "../support/eventually.js"
import { LOOPBACK } from "../support/ports.js"
import { type Gateway, openBackend, openGateway } from "./bed.js"

/** The same inputs again: SLUICE_SEED=… */
const SEED = Number(process.env.SLUICE_SEED ?? Math.floor(Math.random() * 2 ** 31))
const INPUTS = 2_500 * Number(process.env.SLUICE_RUNS ?? 1)
const AT_ONCE = 200
const QUIET_MS = 1_000
/** What RFC 9110 and 9112 have for an encoding or a version that is not understood: no failure of ours. */
const REFUSALS = ["501", "505"]

/** Sends bytes, closes the connection when no more data arrives, and returns the answer. */
function converse({ port }: Gateway, input: Buffer): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(port, LOOPBACK)
    let text = ""
    socket.setTimeout(QUIET_MS, () => socket.destroy())
    socket.on("data", (chunk) => {
      text += chunk.toString("latin1")
    })
    // A server may close the connection while malformed bytes are still being sent.
    socket.on("error", () => undefined).on("close", () => resolve(text))
    socket.write(input)
  })
}

it(`forwards nothing malformed of ${INPUTS} generated inputs, and answers none of them with a failure`, async () => {
  process.stdout.write(`malformed inputs: SLUICE_SEED=${SEED}\n`)
  const backend = await openBackend((request, response) => {
    request.resume().on("end", () => response.end("from the backend"))
  })
  const malformed: string[] = []
  backend.server.on("clientError", (error: NodeJS.ErrnoException & { rawPacket?: Buffer }, socket) => {
    // What the parser refuses. A body that a client broke off ends in the middle here as well.
    if (error.code?.startsWith("HPE_") && error.code !== "HPE_INVALID_EOF_STATE")
      malformed.push(`${error.code}: ${error.rawPacket?.toString("latin1").slice(0, 300)}`)
    socket.destroy()
  })
  const gateway = await openGateway({ upstream: backend })
  const random = randomOf(SEED)
  const bad: string[] = []
  const statuses = new Map<string, number>()
  let started = 0
  const worker = async (): Promise<void> => {
    while (started < INPUTS) {
      started++
      const input = generators.http(random)
      const text = await converse(gateway, input)
      for (const [, status = ""] of text.matchAll(/HTTP\/1\.1 (\d{3}) /g)) {
        statuses.set(status, (statuses.get(status) ?? 0) + 1)
        if (status.startsWith("5") && !REFUSALS.includes(status))
          bad.push(`${JSON.stringify(input.toString("latin1").slice(0, 500))} → ${text.slice(0, 500)}`)
      }
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, worker))
  const counts = [...statuses].map(([status, times]) => `${status} × ${times}`).join(", ")
  process.stdout.write(`gateway: ${counts}\n`)
  expect(bad.slice(0, 3)).toEqual([])
  expect(malformed.slice(0, 3)).toEqual([])
  expect(statuses.get("400")).toBeGreaterThan(INPUTS / 50)
  expect(statuses.get("200")).toBeGreaterThan(INPUTS / 50)
  expect((await fetch(gateway.url)).status).toBe(200)
  // The gateway does not wait for clients that have disconnected.
  await eventually(
    () => new Promise((resolve) => backend.server.getConnections((_, count) => resolve(count < 64))),
  )
}, 120_000)
