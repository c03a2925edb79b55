// A gateway with rules, in front of a backend that records its requests.

import { once } from "node:events"
import { createServer, type RequestListener, type Server } from "node:http"
import { type AddressInfo, connect, type Socket } from "node:net"
import { type Clock, memoryStore, type Store } from "sluice"
import { createRuleEngine, objectRules, parseRuleSet } from "sluice/rules"
import { ManualClock } from "sluice/testing"
import { configSchema } from "../../packages/server/src/config/schema.js"
import type { Core } from "../../packages/server/src/core.js"
import { startGateway } from "../../packages/server/src/gateway/start-gateway.js"
import { afterThis } from "../support/after-this.js"
import { LOOPBACK } from "../support/ports.js"

export { afterThis } from "../support/after-this.js"

export const NO_RULES = "version: 1\nrules: []"

export interface Gateway {
  readonly url: string
  readonly port: number
  readonly core: Core
}

export interface GatewayBed {
  /** A rule set in YAML. Default: one without rules. */
  readonly rules?: string
  /** Where it forwards to. */
  readonly upstream: { readonly port: number }
  /** Further settings of the section `gateway`. */
  readonly settings?: Record<string, unknown>
  readonly limits?: Record<string, unknown>
  /** Where counters live. Default: in memory. One that is given is not closed. */
  readonly store?: Store
  /** For the rules it is always the first moment of 2026. */
  readonly isTimeStopped?: boolean
}

export async function openGateway({
  rules = NO_RULES,
  upstream,
  settings,
  limits,
  store,
  isTimeStopped = false,
}: GatewayBed): Promise<Gateway> {
  const core = openCore(rules, isTimeStopped ? new ManualClock() : undefined, store)
  const config = configSchema.parse({
    gateway: {
      enabled: true,
      port: 0,
      upstream: [`http://${LOOPBACK}:${upstream.port}`],
      accessLog: { format: "off" },
      ...settings,
    },
    limits: limits ?? {},
  })
  const gateway = await startGateway(core, { settings: config.gateway, limits: config.limits })
  afterThis(async () => {
    await gateway.close(0)
    await core.engine.close()
    if (store === undefined) await core.store.close()
  })
  const port = Number(gateway.address.slice(gateway.address.lastIndexOf(":") + 1))
  return { url: `http://${LOOPBACK}:${port}`, port, core }
}

function openCore(rules: string, stopped: Clock | undefined, given: Store | undefined): Core {
  const timing = stopped === undefined ? {} : { clock: stopped }
  const store = given ?? memoryStore(timing)
  const source = objectRules(parseRuleSet(rules), timing)
  const engine = createRuleEngine({ rules: source, store, ...timing, secret: "for tests" })
  return { engine, rules: source, store, watch: { decided: () => {} } }
}

export interface Backend {
  readonly port: number
  readonly server: Server
  /** Targets of the requests it got, `GET /path?query`. */
  readonly seen: readonly string[]
}

const MAX_HEAD_BYTES = 64 * 1024

/** Answers by a handler, or everything with 200 and `from the backend`. */
export async function openBackend(
  handler: RequestListener = (_request, response) => response.end("from the backend"),
): Promise<Backend> {
  const seen: string[] = []
  // The gateway adds headers, so the largest head it accepts is over Node's default limit when it arrives here.
  const server = createServer({ maxHeaderSize: MAX_HEAD_BYTES }, (request, response) => {
    seen.push(`${request.method} ${request.url}`)
    handler(request, response)
  })
  server.listen(0, LOOPBACK)
  await once(server, "listening")
  afterThis(async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })
  return { port: (server.address() as AddressInfo).port, server, seen }
}

export interface Exchange {
  /** Everything that came back. */
  readonly text: string
  /** The statuses of all answers in it. */
  readonly statuses: readonly number[]
  /** Whether the server ended the connection. */
  readonly isClosed: boolean
}

/** A socket of a client that knows nothing of HTTP. */
export async function dial(port: number): Promise<Socket> {
  const socket = connect(port, LOOPBACK)
  socket.on("error", () => undefined)
  afterThis(() => socket.destroy())
  await once(socket, "connect")
  return socket
}

const FIRST_ANSWER_MS = 3_000

/** Sends bytes as they are, and tells what came back until the server closed or nothing came for a while. */
export async function exchange(port: number, bytes: string | Buffer, quietMs = 250): Promise<Exchange> {
  const socket = await dial(port)
  let text = ""
  let isClosed = false
  let quiet: NodeJS.Timeout | undefined
  await new Promise<void>((resolve) => {
    const wait = (ms = quietMs) => {
      clearTimeout(quiet)
      quiet = setTimeout(resolve, ms)
    }
    socket.on("data", (chunk) => {
      text += chunk.toString("latin1")
      wait()
    })
    socket.on("close", () => {
      isClosed = true
      resolve()
    })
    socket.write(typeof bytes === "string" ? Buffer.from(bytes, "latin1") : bytes)
    // The first answer may take its time on a busy machine.
    wait(Math.max(quietMs, FIRST_ANSWER_MS))
  })
  clearTimeout(quiet)
  socket.destroy()
  const statuses = [...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status))
  return { text, statuses, isClosed }
}
