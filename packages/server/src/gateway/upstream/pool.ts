// Connections to one address, kept between requests. The one used last is used first: the others may then end.

import type { Socket } from "node:net"
import { type ClientShare, ClientShares, type Waiter } from "./client-shares.js"
import { Connection, type ConnectionOwner } from "./connection.js"
import { type Dial, dialer } from "./dial.js"
import { SilentUploads } from "./silent-uploads.js"
import type { UpstreamTls } from "./upstream-tls.js"

export interface PoolOptions {
  /** For an `https` origin. The certificate is always verified. */
  readonly tls?: UpstreamTls | undefined
  /** Open at once; what comes beyond that waits. Default: 1,024. */
  readonly maxConnections?: number | undefined
  /** Requests that wait for one at once; more are refused. Default: 1,024. */
  readonly maxWaiting?: number | undefined
  /** The part of both that one client may take, from 0 to 1, and at least one of each. Default: 1, all of them. */
  readonly clientShare?: number | undefined
  /** How long an idle connection is kept. Default: 4 s, less than most servers keep theirs. */
  readonly keepAliveMs?: number | undefined
}

/** Why there is no connection: none can be made, not in time, or too many are open already. */
export type Refusal = "unreachable" | "timeout" | "full"

/** Who wants a connection. Called once, with either; `connected` perhaps before `take` returns. */
export interface Taker {
  connected(connection: Connection): void
  refused(refusal: Refusal, error: Error): void
}

export interface TakeOptions {
  /** 0 waits for ever. */
  readonly connectMs: number
  /** `fresh`: one that was never used. `alone`: also, and besides those that are counted; it is never kept. */
  readonly kind?: "any" | "fresh" | "alone" | undefined
  /** Who asks, for its share. Default: nobody known, which is a client of its own. */
  readonly client?: string | undefined
}

export interface Pool {
  /** Connections that stand, or are being opened. */
  readonly open: number
  readonly idle: number
  readonly silentUploads: SilentUploads
  take(taker: Taker, options: TakeOptions): void
  /** Somebody who waits has gone away. */
  leave(taker: Taker): void
  /** Takes nothing new. Idle connections end now, the others with their exchange; resolves after the last. */
  close(): Promise<void>
}

export function openPool(origin: string, options: PoolOptions = {}): Pool {
  return new ConnectionPool(dialer(origin, options.tls), options)
}

const KEEP_ALIVE_MS = 4_000
const MOST_CONNECTIONS = 1_024
const MAX_WAITING = 1_024
/** How much earlier than the upstream says we stop using a connection: our next request may be on its way. */
const KEEP_ALIVE_MARGIN_MS = 1_000

class ConnectionPool implements Pool, ConnectionOwner {
  readonly silentUploads: SilentUploads
  readonly #dial: Dial
  readonly #most: number
  readonly #keepAliveMs: number
  readonly #idle: Connection[] = []
  readonly #clients: ClientShares
  /** Every socket, also those on their own. */
  readonly #sockets = new Set<Socket>()
  #open = 0
  #connecting = 0
  #sweep: NodeJS.Timeout | undefined
  #isClosed = false
  #onEmpty: (() => void) | undefined

  constructor(dial: Dial, options: PoolOptions) {
    this.#dial = dial
    this.#most = options.maxConnections ?? MOST_CONNECTIONS
    this.silentUploads = new SilentUploads(this.#most)
    this.#keepAliveMs = options.keepAliveMs ?? KEEP_ALIVE_MS
    const { clientShare = 1, maxWaiting = MAX_WAITING } = options
    const shareOf = (all: number) => Math.max(1, Math.ceil(all * clientShare))
    this.#clients = new ClientShares({
      maxHeld: shareOf(this.#most),
      maxWaiting,
      maxWaitingEach: shareOf(maxWaiting),
    })
  }

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
      taker.refused("full", new Error("too many wait for a connection"))
    } else if (mayHold && this.#open < this.#most) this.#openShared(connectMs)
    // A new one needs the place of one that is there.
    else if (kind === "fresh" && mayHold) this.#idle[0]?.socket.destroy()
  }

  leave(taker: Taker): void {
    this.#clients.leave(taker)
  }

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
    // Whoever waits for a new one gets it in the place of this.
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
      // One that the upstream has just ended is not in its list any more once its socket tells; until then it is here.
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
        // Not from the buffer of all the others: it may be another protocol's before long.
        socket.on("data", connection.read)
        taker.connected(connection)
      },
      refused: (error) => taker.refused("unreachable", error),
      expired: () => taker.refused("timeout", new Error("no connection in time")),
    })
  }

  #connect(
    connectMs: number,
    socket: Socket,
    told: { connected(socket: Socket): void; refused(error: Error): void; expired(): void },
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
      told.refused(error)
    }
    const onConnect = (): void => {
      settle()
      told.connected(socket)
    }
    const timer =
      connectMs === 0
        ? undefined
        : setTimeout(() => {
            settle()
            discard(socket)
            told.expired()
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
    const isFull = !hasShare || (this.#open >= this.#most && this.#connecting === 0)
    taker.refused(isFull ? "full" : "timeout", new Error("no connection in time"))
  }

  /** A place is free, and somebody waits for whom none is being opened. */
  #openForWaiting(): void {
    const next = this.#clients.next()
    if (this.#isClosed || next === undefined) return
    if (this.#clients.waiting <= this.#connecting || this.#open >= this.#most) return
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

/** Nobody hears of it any more. */
function discard(socket: Socket): void {
  socket.on("error", () => undefined)
  socket.destroy()
}
