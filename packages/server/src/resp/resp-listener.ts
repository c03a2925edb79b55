import { once } from "node:events"
import { createServer, type Server, type Socket } from "node:net"
import { type Clock, systemClock } from "sluice"
import type { Core } from "../core.js"
import { HeldBytes } from "../held-bytes.js"
import { addressOf, drain, type Listener } from "../listener.js"
import { Connection, type ConnectionContext } from "./connection.js"
import { Login } from "./login.js"
import { ReplyWriter } from "./reply-writer.js"
import { RequestParser } from "./request-parser.js"
import { Throttle } from "./throttle.js"

export interface RespOptions {
  readonly host: string
  /** 0 for any free port. */
  readonly port: number
  /** The password that clients send with AUTH or HELLO. Default: none is required. */
  readonly password?: string | undefined
  /** Separates the counters of services that share a store. Default: `"sluice"`. */
  readonly prefix?: string
  readonly maxConnections?: number
  /** The maximum size of a command in bytes. Default: 65,536. */
  readonly maxCommandBytes?: number
  /** The maximum number of arguments of a command. Default: 1,024. */
  readonly maxArguments?: number
  /** How long a connection may be idle. Default: 10 minutes; 0 for no limit. */
  readonly idleMs?: number
  /** How long a command may take to arrive, and a client to read its replies. Default: 10 seconds. */
  readonly slowMs?: number
  /** How long a client may take to log in. Default: 1 minute. */
  readonly loginMs?: number
  /** Limits the memory that all clients together use. Default: 64 MiB. */
  readonly heldBytes?: HeldBytes
  /** Called for internal errors. Default: a process warning. */
  readonly onError?: (error: unknown) => void
  /** The clock of the timeouts. Default: the system clock. */
  readonly clock?: Clock
}

const SWEEP_MS = 1_000

/** Serves CL.THROTTLE and SLUICE.CHECK to any Redis client. */
export async function startResp(core: Core, options: RespOptions): Promise<Listener> {
  const listener = new RespListener(core, options)
  await listener.open(options)
  return listener
}

class RespListener implements Listener, ConnectionContext {
  readonly core: Core
  readonly login: Login
  readonly maxConnections: number
  readonly startedAt = performance.now()
  readonly limits: { readonly arguments: number; readonly bytes: number }
  readonly parser: RequestParser
  readonly reply = new ReplyWriter()
  readonly heldBytes: HeldBytes
  readonly throttle: Throttle
  readonly onError: (error: unknown) => void
  address = ""
  seconds = 0
  readonly #server: Server
  readonly #connections = new Set<Connection>()
  readonly #schedule: NonNullable<Clock["schedule"]>
  readonly #timeouts: { readonly idle: number; readonly slow: number; readonly login: number }
  #cancelSweep = () => {}
  #ids = 0
  #closed: Promise<void> | undefined

  constructor(core: Core, options: RespOptions) {
    const { clock = systemClock } = options
    this.core = core
    this.login = new Login(options.password, options.clock)
    this.maxConnections = options.maxConnections ?? 10_000
    this.limits = { arguments: options.maxArguments ?? 1_024, bytes: options.maxCommandBytes ?? 65_536 }
    this.parser = new RequestParser(this.limits)
    this.throttle = new Throttle(core.store, options.prefix ?? "sluice")
    this.heldBytes = options.heldBytes ?? new HeldBytes()
    this.onError = options.onError ?? warn
    this.#schedule = clock.schedule?.bind(clock) ?? systemClock.schedule
    this.#timeouts = {
      idle: secondsOf(options.idleMs ?? 600_000),
      slow: secondsOf(options.slowMs ?? 10_000),
      login: secondsOf(options.loginMs ?? 60_000),
    }
    // Half open: a client that closes its side after the last command still receives its replies.
    this.#server = createServer({ allowHalfOpen: true, noDelay: true, keepAlive: true }, (socket) =>
      this.#accept(socket),
    )
  }

  get connections(): number {
    return this.#connections.size
  }

  async open({ host, port }: RespOptions): Promise<void> {
    this.#server.listen(port, host)
    await once(this.#server, "listening")
    this.address = addressOf(this.#server)
    this.#cancelSweep = this.#schedule(SWEEP_MS, this.#sweep)
  }

  close(deadlineMs = 10_000): Promise<void> {
    this.#closed ??= this.#close(deadlineMs)
    return this.#closed
  }

  async #close(deadlineMs: number): Promise<void> {
    // The protocol has no way to ask clients to stop, so commands on their way get a moment to arrive.
    await drain(this.#server, deadlineMs, {
      endIdle: () => {
        for (const connection of this.#connections) connection.end()
      },
      cut: () => {
        for (const connection of this.#connections) connection.destroy()
      },
    })
    this.#cancelSweep()
    this.#reportCounts()
    await this.login.close()
  }

  #accept(socket: Socket): void {
    if (this.#connections.size >= this.maxConnections) {
      socket.on("error", () => {})
      socket.end("-ERR max number of clients reached\r\n")
      socket.destroySoon()
      return
    }
    const connection = new Connection(socket, this, ++this.#ids)
    this.#connections.add(connection)
    connection.onClose(() => this.#connections.delete(connection))
  }

  /** Checks all timeouts once a second: a timer per connection would have to be reset with every command. */
  readonly #sweep = (): void => {
    this.seconds++
    const { idle, slow, login } = this.#timeouts
    for (const connection of this.#connections) {
      const idleSeconds = connection.idleSeconds
      if (
        connection.incompleteSeconds >= slow ||
        connection.unreadSeconds() >= slow ||
        idleSeconds >= idle ||
        (!connection.isLoggedIn && connection.ageSeconds >= login)
      )
        connection.destroy()
    }
    this.#reportCounts()
    this.#cancelSweep = this.#schedule(SWEEP_MS, this.#sweep)
  }

  #reportCounts(): void {
    const { allowed, denied, degraded } = this.throttle.takeCounts()
    if (allowed + denied === 0) return
    this.core.watch.counted?.({ protocol: "resp", allowed, denied, degraded })
  }
}

/** Whole seconds, at least one; infinite for 0. */
function secondsOf(ms: number): number {
  return ms === 0 ? Number.POSITIVE_INFINITY : Math.max(1, Math.ceil(ms / 1000))
}

function warn(error: unknown): void {
  process.emitWarning(error instanceof Error ? error : new Error(String(error)))
}
