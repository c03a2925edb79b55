// Keep-alive connections to one address. The connection used last is used first, so that surplus ones become idle and close.

import type { Socket } from "node:net"
import { type ClientShare, ClientShares, SilentUploads, type Waiter } from "./client-shares.js"
import { Connection, type ConnectionOwner } from "./connection.js"
import { type Dial, dialer, type UpstreamTls } from "./dial.js"

export interface PoolOptions {
  /** For an `https` origin. The certificate is always verified. */
  readonly tls?: UpstreamTls | undefined
  /** Connections open at once; further requests wait. Default: 1,024. */
  readonly maxConnections?: number | undefined
  /** Requests that wait for a connection; further ones are refused. Default: 1,024. */
  readonly maxWaiting?: number | undefined
  /** The fraction of both that one client may take, from 0 to 1; at least one of each. Default: 1. */
  readonly clientShare?: number | undefined
  /** How long an idle connection is kept. Default: 4 s, which is less than most servers keep theirs. */
  readonly keepAliveMs?: number | undefined
}

/** Why there is no connection: the address refuses, the timeout passed, or too many are open. */
export type Refusal = "unreachable" | "timeout" | "full"

/** Receives the result of `take`: exactly one of the two is called once. `connected` may be called before `take` returns. */
export interface Taker {
  connected(connection: Connection): void
  refused(refusal: Refusal, error: Error): void
}

export interface TakeOptions {
  /** 0 waits without limit. */
  readonly connectMs: number
  /** `fresh`: a connection that was never used. `alone`: a new one outside the pool's limits, which is never reused. */
  readonly kind?: "any" | "fresh" | "alone" | undefined
  /** Whose share the connection counts against. Default: one share for all unknown clients. */
  readonly client?: string | undefined
}

const KEEP_ALIVE_MS = 4_000
const MAX_CONNECTIONS = 1_024
const MAX_WAITING = 1_024
/** Stop using a connection this long before the upstream closes it: a request could be on its way at that moment. */
const KEEP_ALIVE_MARGIN_MS = 1_000

/** The connections to one origin. */
export class Pool implements ConnectionOwner {
  readonly silentUploads: SilentUploads
  readonly #dial: Dial
  readonly #maxConnections: number
  readonly #keepAliveMs: number
  readonly #idle: Connection[] = []
  readonly #clients: ClientShares
  /** Every socket, including those outside the pool's limits. */
  readonly #sockets = new Set<Socket>()
  #open = 0
  #connecting = 0
  #sweep: NodeJS.Timeout | undefined
  #isClosed = false
  #onEmpty: (() => void) | undefined

  constructor(origin: string, options: PoolOptions = {}) {
    this.#dial = dialer(origin, options.tls)
    this.#maxConnections = options.maxConnections ?? MAX_CONNECTIONS
    this.silentUploads = new SilentUploads(this.#maxConnections)
    this.#keepAliveMs = options.keepAliveMs ?? KEEP_ALIVE_MS
    const { clientShare = 1, maxWaiting = MAX_WAITING } = options
    const shareOf = (all: number) => Math.max(1, Math.ceil(all * clientShare))
    this.#clients = new ClientShares({
      maxHeld: shareOf(this.#maxConnections),
      maxWaiting,
      maxWaitingEach: shareOf(maxWaiting),
    })
  }

  /** Connections that are open or being opened. */
  get open(): number {
    return this.#sockets.size
  }

  get idle(): number {
    return this.#idle.length
  }

  take(taker: Taker, { connectMs, kind = "any", client = "" }: TakeOptions): void {
    if (this.#isClosed) {
      taker.refused("unreachable", new Error("the pool is closed"))
      return
    }
    if (kind === "alone") {
      this.#openAlone(taker, connectMs)
      return
    }
    const share = this.#clients.of(client)
    const mayHold = this.#clients.mayHold(share)
    const idle = kind === "any" && mayHold ? this.#newestIdle() : undefined
    if (idle !== undefined) {
      this.#give(idle, share, taker)
      return
    }
    const timer = connectMs === 0 ? undefined : setTimeout(() => this.#giveUp(taker), connectMs)
    if (!this.#clients.wait(share, { taker, isFresh: kind === "fresh", connectMs, timer })) {
      clearTimeout(timer)
      taker.refused("full", new Error("too many requests wait for a connection"))
    } else if (mayHold && this.#open < this.#maxConnections) this.#openShared(connectMs)
    // Close an idle connection to make room for the fresh one.
    else if (kind === "fresh" && mayHold) this.#idle[0]?.socket.destroy()
  }

  /** Cancels a `take` that still waits. */
  leave(taker: Taker): void {
    this.#clients.leave(taker)
  }

  /** Refuses new requests. Idle connections close now, the others after their exchange; resolves after the last. */
  async close(): Promise<void> {
    this.#isClosed = true
    clearInterval(this.#sweep)
    for (const connection of this.#idle.splice(0)) connection.socket.destroy()
    if (this.#sockets.size === 0) return
    await new Promise<void>((resolve) => {
      this.#onEmpty = resolve
    })
  }

  idled(connection: Connection): void {
    this.#release(connection)
    const waiter = this.#clients.next()
    if (waiter !== undefined && !(waiter.isFresh && connection.uses > 0)) {
      this.#serve(waiter, connection)
      return
    }
    // The next waiter needs a fresh connection: this one makes room for it.
    if (this.#isClosed || waiter !== undefined) {
      connection.socket.destroy()
      return
    }
    connection.idleSince = performance.now()
    this.#idle.push(connection)
    this.#sweep ??= setInterval(() => this.#endOldest(), Math.min(1_000, this.#keepAliveMs)).unref()
  }

  closed(connection: Connection): void {
    const at = this.#idle.lastIndexOf(connection)
    if (at >= 0) this.#idle.splice(at, 1)
    this.#open--
    this.#release(connection)
    const waiter = this.#clients.next()
    const idle = waiter === undefined || waiter.isFresh ? undefined : this.#newestIdle()
    if (waiter !== undefined && idle !== undefined) this.#serve(waiter, idle)
    else this.#openForWaiting()
  }

  #newestIdle(): Connection | undefined {
    for (;;) {
      const connection = this.#idle.pop()
      // The upstream may have closed it, and the socket has not emitted `close` yet.
      if (connection === undefined || connection.isOpen) return connection
    }
  }

  #give(connection: Connection, share: ClientShare, taker: Taker): void {
    this.#clients.hold(share)
    connection.holder = share
    taker.connected(connection)
  }

  #serve({ taker }: Waiter, connection: Connection): void {
    const place = this.#clients.leave(taker)
    if (place !== undefined) this.#give(connection, place.share, taker as Taker)
  }

  #release(connection: Connection): void {
    const { holder } = connection
    connection.holder = undefined
    if (holder !== undefined) this.#clients.release(holder)
  }

  #openShared(connectMs: number): void {
    let connection: Connection | undefined
    const read = (bytes: Buffer): void => connection?.read(bytes)
    this.#open++
    this.#connecting++
    this.#connect(connectMs, this.#dial(read), {
      connected: (socket) => {
        this.#connecting--
        connection = new Connection(socket, this)
        this.idled(connection)
      },
      refused: (error) => {
        this.#open--
        this.#connecting--
        const next = this.#clients.next()?.taker
        if (next !== undefined) this.#clients.leave(next)
        ;(next as Taker | undefined)?.refused("unreachable", error)
        this.#openForWaiting()
      },
      expired: () => {
        this.#open--
        this.#connecting--
        this.#openForWaiting()
      },
    })
  }

  #openAlone(taker: Taker, connectMs: number): void {
    const owner: ConnectionOwner = { idled: ({ socket }) => socket.destroy(), closed: () => undefined }
    this.#connect(connectMs, this.#dial(), {
      connected: (socket) => {
        const connection = new Connection(socket, owner)
        // Not from the shared read buffer: the connection may switch to another protocol.
        socket.on("data", connection.read)
        taker.connected(connection)
      },
      refused: (error) => taker.refused("unreachable", error),
      expired: () => taker.refused("timeout", new Error("no connection within the timeout")),
    })
  }

  #connect(
    connectMs: number,
    socket: Socket,
    on: { connected(socket: Socket): void; refused(error: Error): void; expired(): void },
  ): void {
    this.#sockets.add(socket)
    const event = "encrypted" in socket ? "secureConnect" : "connect"
    const settle = (): void => {
      clearTimeout(timer)
      socket.off("error", onError).off(event, onConnect)
    }
    const onError = (error: Error): void => {
      settle()
      discard(socket)
      on.refused(error)
    }
    const onConnect = (): void => {
      settle()
      on.connected(socket)
    }
    const timer =
      connectMs === 0
        ? undefined
        : setTimeout(() => {
            settle()
            discard(socket)
            on.expired()
          }, connectMs)
    socket.on("error", onError).on(event, onConnect)
    socket.on("close", () => this.#gone(socket))
  }

  #gone(socket: Socket): void {
    this.#sockets.delete(socket)
    if (this.#sockets.size === 0) this.#onEmpty?.()
  }

  #giveUp(taker: Taker): void {
    const place = this.#clients.leave(taker)
    const hasShare = place === undefined || this.#clients.mayHold(place.share)
    const isFull = !hasShare || (this.#open >= this.#maxConnections && this.#connecting === 0)
    taker.refused(isFull ? "full" : "timeout", new Error("no connection within the timeout"))
  }

  /** Opens a connection when there is room and more requests wait than connections are being opened. */
  #openForWaiting(): void {
    const next = this.#clients.next()
    if (this.#isClosed || next === undefined) return
    if (this.#clients.waiting <= this.#connecting || this.#open >= this.#maxConnections) return
    this.#openShared(next.connectMs)
  }

  #endOldest(): void {
    const now = performance.now()
    const idle = this.#idle
    for (let i = idle.length - 1; i >= 0; i--) {
      const { idleSince, keptMs, socket } = idle[i] as Connection
      const keepMs = Math.min(this.#keepAliveMs, Math.max(0, keptMs - KEEP_ALIVE_MARGIN_MS))
      if (now - idleSince >= keepMs) {
        idle.splice(i, 1)
        socket.destroy()
      }
    }
    if (idle.length > 0) return
    clearInterval(this.#sweep)
    this.#sweep = undefined
  }
}

/** Destroys a socket and ignores its errors. */
function discard(socket: Socket): void {
  socket.on("error", () => undefined)
  socket.destroy()
}
