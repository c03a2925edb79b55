// A gateway at a TLS port, and clients that see every frame it sends.

import { once } from "node:events"
import { connect as connectTls } from "node:tls"
import { onTestFinished } from "vitest"
import { makeCertificate } from "../../../../test/support/certificate.js"
import { eventually } from "../../../../test/support/eventually.js"
import { FLAG, FRAME, PREFACE } from "../http2/frame.js"
import { headerBlock } from "../http2/header-block.js"
import { type Frame, frame, RawClient, settings } from "../http2/raw-client.test-support.js"
import { Gateway, type GatewayOptions } from "./front/gateway.js"
import { LOOPBACK, testRoute, testTarget } from "./front/gateway.test-support.js"
import type { Forwarded } from "./front/request-context.js"
import { type GatewayListenerOptions, listen } from "./listen/listen.js"
import type { Deadlines } from "./routes/route.js"

export interface Http2GatewayOptions extends Partial<Omit<GatewayListenerOptions, "gateway">> {
  readonly deadlines?: Partial<Deadlines>
  readonly limiting?: GatewayOptions["limiting"]
}

/** A gateway in front of this origin, at a port that speaks TLS. Closed when the test ends. */
export async function startHttp2Gateway(origin: string, options: Http2GatewayOptions = {}) {
  const { deadlines = {}, limiting, ...listening } = options
  const certificate = makeCertificate()
  const target = testTarget(origin)
  const route = testRoute([target], { deadlines })
  const ended: Forwarded[] = []
  const gateway = new Gateway({
    routes: { find: (_host, path) => (path === "/nowhere" ? undefined : route) },
    watch: { ended: (event) => void ended.push(event) },
    limiting,
  })
  const listener = await listen({
    host: LOOPBACK,
    port: 0,
    http2: true,
    headTimeoutMs: 10_000,
    keepAliveMs: 60_000,
    maxHeaderBytes: 16_384,
    maxConnections: 1_000,
    certificate,
    ...listening,
    gateway,
  })
  onTestFinished(() => listener.close(0))
  const port = Number(listener.address.split(":").at(-1))
  return { listener, port, certificate, target, ended }
}

/** A client that has said hello. */
export async function dialTls(port: number, greeting: Buffer = settings()): Promise<RawClient> {
  const socket = connectTls({ port, host: LOOPBACK, ALPNProtocols: ["h2"], rejectUnauthorized: false })
  onTestFinished(() => void socket.destroy())
  const client = new RawClient(socket)
  await once(socket, "secureConnect")
  client.send(PREFACE, greeting)
  await client.next(FRAME.SETTINGS)
  return client
}

/** The HEADERS of a request, which ends with them unless `flags` say otherwise. */
export function asks(
  id: number,
  headers: Readonly<Record<string, string>> = {},
  flags: number = FLAG.END_STREAM,
): Buffer {
  const block = headerBlock({
    ":method": "GET",
    ":scheme": "https",
    ":authority": "shop.example",
    ":path": "/",
    ...headers,
  })
  return frame(FRAME.HEADERS, FLAG.END_HEADERS | flags, id, block)
}

/** Whether a frame ends its stream. */
export function endsStream({ type, flags }: Frame): boolean {
  return (type === FRAME.HEADERS || type === FRAME.DATA) && (flags & FLAG.END_STREAM) !== 0
}

/** What has come on a stream, once it has ended in one way or the other. */
export async function framesOf(client: RawClient, id: number): Promise<Frame[]> {
  const all = () => client.frames.filter((found) => found.id === id)
  await eventually(() => all().some((found) => endsStream(found) || found.type === FRAME.RST_STREAM), {
    what: `the end of stream ${id}`,
  })
  return all()
}
