import { once } from "node:events"
import { createServer, type IncomingMessage, type RequestListener, type Server } from "node:http"
import { type AddressInfo, connect, createServer as createNetServer, type Socket } from "node:net"
import { onTestFinished } from "vitest"
import { eventually } from "../../../../../test/support/eventually.js"
import { listen } from "../listen/listen.js"
import type { Deadlines, Route } from "../routes/route.js"
import { Pool, type PoolOptions } from "../upstream/pool.js"
import type { Target } from "../upstream/target.js"
import { Gateway, type GatewayOptions } from "./gateway.js"
import type { Forwarded } from "./request-context.js"

export const LOOPBACK = "127.0.0.1"

export interface TestUpstream {
  readonly origin: string
  readonly port: number
  /** Connections that were made to it. */
  readonly connections: readonly Socket[]
  readonly requests: readonly IncomingMessage[]
  readonly server: Server
}

/** A real HTTP server. Closed when the test ends. */
export async function startUpstream(handler: RequestListener): Promise<TestUpstream> {
  const requests: IncomingMessage[] = []
  const server = createServer((request, response) => {
    requests.push(request)
    handler(request, response)
  })
  const { port, connections } = await listening(server)
  return { origin: `http://${LOOPBACK}:${port}`, port, connections, requests, server }
}

export interface RawUpstream {
  readonly origin: string
  readonly port: number
  readonly connections: readonly Socket[]
  /** What came on each connection, in their order. */
  readonly received: readonly string[]
}

/** A server that says whatever it likes. `answer` is called with each piece that arrives, and all that came before it. */
export async function startRawUpstream(
  answer: (socket: Socket, received: string, connection: number) => void,
): Promise<RawUpstream> {
  const received: string[] = []
  const server = createNetServer((socket) => {
    const connection = received.push("") - 1
    socket.on("error", () => undefined)
    socket.on("data", (bytes) => {
      received[connection] += bytes.toString("latin1")
      answer(socket, received[connection] as string, connection)
    })
  })
  const { port, connections } = await listening(server)
  return { origin: `http://${LOOPBACK}:${port}`, port, connections, received }
}

async function listening(server: Server | ReturnType<typeof createNetServer>) {
  const connections: Socket[] = []
  server.on("connection", (socket: Socket) => void connections.push(socket))
  server.listen(0, LOOPBACK)
  await once(server, "listening")
  onTestFinished(async () => {
    for (const socket of connections) socket.destroy()
    await new Promise((resolve) => server.close(resolve))
  })
  return { port: (server.address() as AddressInfo).port, connections }
}

export interface TestTarget extends Target {
  /** Exchanges under way. */
  readonly active: number
  readonly outcomes: readonly ("answered" | "failed")[]
}

export function testTarget(origin: string, options: PoolOptions = {}): TestTarget {
  const pool = new Pool(origin, options)
  const outcomes: ("answered" | "failed")[] = []
  let active = 0
  onTestFinished(() => pool.close())
  return {
    origin,
    pool,
    outcomes,
    get active() {
      return active
    },
    begin() {
      active++
    },
    ended(outcome) {
      active--
      outcomes.push(outcome)
    },
  }
}

export interface TestGateway {
  readonly gateway: Gateway
  readonly url: string
  readonly port: number
  readonly targets: readonly TestTarget[]
  /** What those who watch were told. */
  readonly ended: readonly Forwarded[]
  readonly failures: readonly string[]
}

export interface TestGatewayOptions extends Omit<Partial<GatewayOptions>, "routes"> {
  readonly deadlines?: Partial<Deadlines>
  readonly route?: Partial<Pick<Route, "keepHost" | "stripPrefix">>
  readonly pool?: PoolOptions
}

/** Longer than a test takes on a busy machine. Tests of deadlines set their own. */
const patient: Deadlines = { connect: 60_000, headers: 60_000, bodyIdle: 60_000, total: 0 }

/** A route to these targets, tried in their order, for everything but `/nowhere`. */
export function testRoute(targets: readonly Target[], options: TestGatewayOptions): Route {
  return {
    name: "all",
    upstream: {
      name: "upstream",
      pick: (except) => targets[except === undefined ? 0 : targets.indexOf(except) + 1],
    },
    deadlines: { ...patient, ...options.deadlines },
    keepHost: true,
    ...options.route,
  }
}

/** A gateway over real HTTP in front of these origins. Closed when the test ends. */
export async function startGateway(
  origins: string | readonly string[],
  options: TestGatewayOptions = {},
): Promise<TestGateway> {
  const { deadlines: _, route: __, pool, ...gatewayOptions } = options
  const targets = [origins].flat().map((origin) => testTarget(origin, pool))
  const ended: Forwarded[] = []
  const failures: string[] = []
  const route = testRoute(targets, options)
  const gateway = new Gateway({
    routes: { find: (_host, path) => (path === "/nowhere" ? undefined : route) },
    watch: { ended: (event) => void ended.push(event) },
    onUpstreamFailure: ({ problem, error }) => void failures.push(`${problem}: ${error.message}`),
    ...gatewayOptions,
  })
  const listener = await listen({ ...LISTENER, gateway })
  onTestFinished(() => listener.close(0))
  const port = Number(listener.address.split(":").at(-1))
  return { gateway, url: `http://${LOOPBACK}:${port}`, port, targets, ended, failures }
}

const LISTENER = {
  host: LOOPBACK,
  port: 0,
  http2: false,
  headTimeoutMs: 60_000,
  keepAliveMs: 5_000,
  maxHeaderBytes: 16_384,
  maxConnections: 10_000,
}

/** Sends bytes as they are and answers all that came back until the gateway closed the connection. */
export async function talk(port: number, ...pieces: (string | Buffer)[]): Promise<string> {
  const socket = connect(port, LOOPBACK)
  onTestFinished(() => void socket.destroy())
  socket.on("error", () => undefined)
  let text = ""
  socket.on("data", (bytes) => {
    text += bytes.toString("latin1")
  })
  for (const piece of pieces) socket.write(piece, "latin1")
  await once(socket, "close")
  return text
}

/** Waits until a number that grows has stopped growing. */
export async function standstill(read: () => number): Promise<void> {
  let before = Number.NaN
  await eventually(
    () => {
      const now = read()
      const isSame = now > 0 && now === before
      before = now
      return isSame
    },
    { every: 300, within: 30_000, what: "a standstill" },
  )
}

/** A request whose answer ends the connection. */
export function lastRequest(line: string, ...headers: string[]): string {
  return `${[`${line} HTTP/1.1`, "host: shop.example", "connection: close", ...headers].join("\r\n")}\r\n\r\n`
}
