// The most memory that hostile connections of HTTP/2 can make the gateway hold. A client may have 8,192 requests under way on
// all its connections, which these exceed three times; those of an endless answer are bounded by the connections to the
// upstream. Measured: 174 and 192 MiB; 1,000 connections without room for their answers made it hold 453 MiB.

import { once } from "node:events"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { get } from "node:https"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { connect, type TLSSocket } from "node:tls"
import { afterEach, beforeAll, expect, it } from "vitest"
import { frame, request, settings } from "../../packages/server/src/http2/raw-client.test-support.js"
import { makeCertificate } from "../support/certificate.js"
import { residentMiB, settledMiB } from "../support/hostile.js"
import { LOOPBACK } from "../support/ports.js"
import { buildServer, killAll } from "../support/service-process.js"
import { afterThis, openBackend } from "./bed.js"
import { startGatewayProcess } from "./gateway-process.js"

beforeAll(() => buildServer(), 120_000)
afterEach(() => killAll())

const CONNECTIONS = 100
const STREAMS = 250
const PREFACE = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
const INITIAL_WINDOW_SIZE = 4

const ids = Array.from({ length: STREAMS }, (_, i) => 2 * i + 1)
const NO_ROOM = settings([INITIAL_WINDOW_SIZE, 0])
const DATA = 0

it.each([
  ["readers that make no room for their answers", [NO_ROOM, ...ids.map((id) => request(id, "/"))], 250],
  [
    "half requests",
    [NO_ROOM, ...ids.flatMap((id) => [request(id, "/hold", 4), frame(DATA, 0, id, Buffer.alloc(262))])],
    250,
  ],
] as const)(
  `${CONNECTIONS} connections with ${STREAMS} streams: %s`,
  async (_name, frames, budget) => {
    const folder = mkdtempSync(join(tmpdir(), "sluice-"))
    afterThis(() => rmSync(folder, { recursive: true }))
    const { cert, key } = makeCertificate()
    writeFileSync(join(folder, "cert.pem"), cert)
    writeFileSync(join(folder, "key.pem"), key)
    const backend = await openBackend((request, response) => {
      if (request.url === "/hold") request.pause()
      else response.end("from the backend")
    })
    const tls = [
      `--gateway.tls.cert=${join(folder, "cert.pem")}`,
      `--gateway.tls.key=${join(folder, "key.pem")}`,
    ]
    const gateway = await startGatewayProcess(backend, tls)
    const status = () =>
      new Promise((resolve) =>
        get(
          { port: gateway.port, host: LOOPBACK, ca: cert, servername: "localhost", agent: false },
          (answer) => resolve(answer.resume().statusCode),
        ).on("error", resolve),
      )
    expect(await status()).toBe(200)
    const before = residentMiB(gateway.child.pid)
    const sent = Buffer.concat([PREFACE, ...frames])
    for (let i = 0; i < CONNECTIONS; i++) {
      const socket: TLSSocket = connect({
        port: gateway.port,
        host: LOOPBACK,
        localAddress: "127.0.0.2",
        ca: cert,
        servername: "localhost",
        ALPNProtocols: ["h2"],
      } as never)
      socket.on("error", () => undefined)
      afterThis(() => socket.destroy())
      await once(socket, "secureConnect")
      socket.pause()
      socket.write(sent)
    }
    const held = (await settledMiB(gateway.child.pid)) - before
    expect(held).toBeLessThan(budget)
    expect(await status()).toBe(200)
  },
  60_000,
)
