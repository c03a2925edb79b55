import { once } from "node:events"
import { connect, type Socket } from "node:net"
import { connect as connectTls } from "node:tls"
import { expect, it, onTestFinished } from "vitest"
import { makeCertificate } from "../../../../../test/support/certificate.js"
import { eventually } from "../../../../../test/support/eventually.js"
import { createGateway } from "../front/gateway.js"
import { LOOPBACK, startUpstream, testRoute, testTarget } from "../front/gateway.test-support.js"
import { type GatewayListenerOptions, listen } from "./listen.js"

async function start(options: Partial<GatewayListenerOptions>) {
  const upstream = await startUpstream((request, response) => {
    request.resume().on("end", () => response.end(request.headers.upgrade ?? "plain"))
  })
  const route = testRoute([testTarget(upstream.origin)], {})
  const listener = await listen({
    host: LOOPBACK,
    port: 0,
    http2: true,
    headTimeoutMs: 10_000,
    keepAliveMs: 60_000,
    maxHeaderBytes: 16_384,
    maxConnections: 100,
    ...options,
    gateway: createGateway({ routes: { find: () => route } }),
  })
  onTestFinished(() => listener.close(0))
  return Number(listener.address.split(":").at(-1))
}

async function dial(port: number, isTls: boolean): Promise<Socket> {
  const socket = isTls
    ? connectTls({ port, host: LOOPBACK, rejectUnauthorized: false })
    : connect({ port, host: LOOPBACK })
  onTestFinished(() => void socket.destroy())
  await once(socket, isTls ? "secureConnect" : "connect")
  return socket
}

const ASK =
  "POST / HTTP/1.1\r\nhost: a\r\nconnection: upgrade, http2-settings\r\nupgrade: h2c\r\nhttp2-settings: AAMAAABkAAQAAP__\r\ncontent-length: 2\r\n\r\nhi"

it.each([
  ["in clear text", false, true],
  ["in clear text, all by node:http", false, false],
  ["over TLS", true, true],
])(
  "requests that would rather speak HTTP/2 leave nothing behind on their connection: %s",
  async (_, isTls, direct) => {
    const port = await start({ direct, ...(isTls ? { certificate: makeCertificate() } : {}) })
    const warnings: string[] = []
    const onWarning = (warning: Error) => void warnings.push(warning.message)
    process.on("warning", onWarning)
    onTestFinished(() => void process.off("warning", onWarning))
    const client = await dial(port, isTls)
    let text = ""
    client.on("data", (bytes) => {
      text += bytes
    })
    const answers = () => text.split("plain").length - 1
    for (let i = 1; i <= 30; i++) {
      client.write(ASK)
      await eventually(() => answers() === i)
    }
    await new Promise(setImmediate)
    expect(warnings).toEqual([])
  },
)
