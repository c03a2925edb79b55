// Clients that send requests and never read the answers are disconnected, on every path that an answer can take.

import { once } from "node:events"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { get } from "node:https"
import { connect } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { connect as connectTls } from "node:tls"
import { expect, it } from "vitest"
import { makeCertificate } from "../support/certificate.js"
import { eventually } from "../support/eventually.js"
import { LOOPBACK } from "../support/ports.js"
import { afterThis, exchange, openBackend, openGateway } from "./bed.js"

/** Many of them exceed what the system buffers for a client that does not read. */
const rules = `version: 1
rules:
  - id: none
    limits: [{ limit: 1, window: 1h, algorithm: fixed-window }]
    response: { body: { text: ${"x".repeat(60_000)} } }`

const plain = "GET / HTTP/1.1\r\nHost: a\r\n\r\n"

it.each([
  ["to plain requests", plain, false],
  ["to requests with TE", "GET / HTTP/1.1\r\nHost: a\r\nTE: x\r\n\r\n", false],
  ["over TLS", plain, true],
])(
  "a client that never reads its denials is disconnected: %s",
  async (_, ask, isTls) => {
    const folder = mkdtempSync(join(tmpdir(), "sluice-"))
    afterThis(() => rmSync(folder, { recursive: true }))
    const { cert, key } = makeCertificate()
    const tls = { cert: join(folder, "cert.pem"), key: join(folder, "key.pem") }
    writeFileSync(tls.cert, cert)
    writeFileSync(tls.key, key)
    const backend = await openBackend()
    const { port } = await openGateway({
      upstream: backend,
      rules,
      settings: { deadlines: { bodyIdle: "500ms" }, ...(isTls ? { tls, http2: false } : {}) },
      // No other client is accepted before this one is disconnected.
      limits: { connections: 1 },
    })
    const address = { port, host: LOOPBACK }
    const client = isTls ? connectTls({ ...address, ca: cert, servername: "localhost" }) : connect(address)
    client.on("error", () => undefined)
    afterThis(() => client.destroy())
    await once(client, isTls ? "secureConnect" : "connect")
    client.pause()
    client.write(ask.repeat(1_000))
    const status = () =>
      isTls
        ? new Promise((resolve) =>
            get({ ...address, ca: cert, servername: "localhost", agent: false }, (answer) =>
              resolve(answer.resume().statusCode),
            ).on("error", () => resolve(0)),
          )
        : exchange(port, plain).then(({ statuses }) => statuses[0])
    await eventually(async () => (await status()) === 429, { within: 15_000, every: 100 })
    expect(backend.seen).toHaveLength(1)
  },
  30_000,
)
