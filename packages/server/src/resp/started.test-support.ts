// A listener on a free port with a core of its own, and a client that sees every byte.

import { once } from "node:events"
import { connect, type Socket } from "node:net"
import { afterThis } from "../../../../test/support/after-this.js"
import { eventually } from "../../../../test/support/eventually.js"
import { LOOPBACK } from "../../../../test/support/ports.js"
import { RespConnection } from "../../../../test/support/redis/resp-connection.js"
import type { Counted } from "../core.js"
import { type TestCore, testCore } from "../core.test-support.js"
import type { Listener } from "../listener.js"
import { type RespOptions, startResp } from "./resp-listener.js"

const RULES = `
version: 1
rules:
  - id: api
    limits: [{ limit: 2, window: 1m, algorithm: gcra }]
  - id: free
    mode: off
    limits: [{ limit: 1, window: 1m }]
`

export interface Started {
  readonly core: TestCore
  readonly listener: Listener
  readonly host: string
  readonly port: number
  readonly counted: readonly Counted[]
  /** A client that speaks RESP2. */
  connect(options?: { readonly encoding?: "latin1" }): Promise<RespConnection>
  /** A bare socket. */
  open(): Promise<RawClient>
}

export async function start(
  options: Partial<RespOptions> = {},
  coreOptions: Parameters<typeof testCore>[1] = {},
): Promise<Started> {
  const core = testCore(RULES, coreOptions)
  const counted: Counted[] = []
  const watch = { ...core.watch, counted: (event: Counted) => void counted.push(event) }
  const listener = await startResp({ ...core, watch }, { host: LOOPBACK, port: 0, ...options })
  afterThis(() => core.close())
  afterThis(() => listener.close(0))
  const port = Number(listener.address.split(":").at(-1))
  const address = { host: LOOPBACK, port }
  return {
    core,
    listener,
    ...address,
    counted,
    async connect(connecting) {
      const client = await RespConnection.open(address, connecting)
      afterThis(() => client.close())
      return client
    },
    async open() {
      const client = new RawClient(connect({ ...address, allowHalfOpen: true }))
      afterThis(() => client.socket.destroy())
      await once(client.socket, "connect")
      return client
    },
  }
}

export class RawClient {
  readonly socket: Socket
  received = ""
  isClosed = false

  constructor(socket: Socket) {
    this.socket = socket
    socket.setNoDelay(true)
    socket.on("data", (chunk) => {
      this.received += chunk.toString("latin1")
    })
    socket.on("end", () => {
      this.isClosed = true
      socket.end()
    })
    socket.on("close", () => {
      this.isClosed = true
    })
    socket.on("error", () => {})
  }

  send(text: string | Buffer): void {
    this.socket.write(typeof text === "string" ? Buffer.from(text, "latin1") : text)
  }

  /** Waits until exactly this was received since the last time. */
  async gets(text: string): Promise<void> {
    await eventually(() => this.received.length >= text.length || this.isClosed, {
      what: JSON.stringify(text),
    })
    const received = this.received.slice(0, text.length)
    this.received = this.received.slice(text.length)
    if (received !== text) throw new Error(`got ${JSON.stringify(received)}, not ${JSON.stringify(text)}`)
  }

  /** Waits until the server has closed the connection, and returns all it said. */
  async last(): Promise<string> {
    await eventually(() => this.isClosed, { what: "the connection is closed" })
    return this.received
  }
}

/** A command as clients send it. */
export function encode(...args: readonly (string | number)[]): string {
  const parts = args.map((arg) => `$${Buffer.byteLength(String(arg), "latin1")}\r\n${arg}\r\n`)
  return `*${args.length}\r\n${parts.join("")}`
}
