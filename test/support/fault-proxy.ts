import { connect, createServer, type Server, type Socket } from "node:net"
import { FaultyDirection, type Flow } from "./fault-direction.js"
import { LOOPBACK, reservePort } from "./ports.js"

export interface FaultProxyOptions {
  /** Random numbers in [0, 1) for jitter. Pass a seeded generator to make a run repeatable. */
  random?: () => number
}

export interface FaultProxyStats {
  /** Connections accepted so far. */
  accepted: number
  /** Connections open now. */
  open: number
  /** Bytes that clients sent to the proxy, and how many of them the target received. */
  requestBytes: number
  requestBytesForwarded: number
  /** Bytes that the target sent to the proxy, and how many of them clients received. */
  replyBytes: number
  replyBytesForwarded: number
}

interface Pair {
  readonly client: Socket
  readonly target: Socket | undefined
  readonly requests: FaultyDirection | undefined
  readonly replies: FaultyDirection | undefined
}

const PASS: Flow = { kind: "pass" }

/**
 * A TCP proxy in front of one server that injects faults on demand. A fault applies to existing and new connections.
 * A flow applies until another one is set for that direction; `reset`, `halfOpen` and `refuse` apply until `pass`.
 * If the target is down, the proxy accepts a connection and then resets it.
 */
export class FaultProxy {
  readonly host = LOOPBACK
  readonly port: number
  readonly stats: FaultProxyStats = {
    accepted: 0,
    open: 0,
    requestBytes: 0,
    requestBytesForwarded: 0,
    replyBytes: 0,
    replyBytesForwarded: 0,
  }
  readonly #targetAddress: { host: string; port: number }
  readonly #random: () => number
  readonly #releasePort: () => Promise<void>
  readonly #pairs = new Set<Pair>()
  /** All sockets of clients, including those that have not closed yet although the proxy dropped their pair. */
  readonly #clients = new Set<Socket>()
  #server: Server | undefined
  #welcome: "open" | "reset" | "half-open" = "open"
  #requestFlow: Flow = PASS
  #replyFlow: Flow = PASS

  private constructor(
    target: { host: string; port: number },
    reserved: { port: number; release: () => Promise<void> },
    random: () => number,
  ) {
    this.#targetAddress = { host: target.host, port: target.port }
    this.port = reserved.port
    this.#releasePort = reserved.release
    this.#random = random
  }

  static async start(
    target: { host: string; port: number },
    options: FaultProxyOptions = {},
  ): Promise<FaultProxy> {
    const proxy = new FaultProxy(target, await reservePort(), options.random ?? Math.random)
    await proxy.#listen()
    return proxy
  }

  get url(): string {
    return `redis://${this.host}:${this.port}`
  }

  /** Removes all faults: listens and forwards. Delivers held bytes now. Connections that lost bytes deliver nothing more. */
  async pass(): Promise<void> {
    this.#welcome = "open"
    this.setFlow({ requests: PASS, replies: PASS })
    await this.#listen()
  }

  /** Sets the flow of one direction or of both. A direction that is not given keeps its flow. */
  setFlow({ requests, replies }: { requests?: Flow; replies?: Flow }): void {
    this.#requestFlow = requests ?? this.#requestFlow
    this.#replyFlow = replies ?? this.#replyFlow
    for (const pair of this.#pairs) {
      if (requests !== undefined) pair.requests?.setFlow(requests)
      if (replies !== undefined) pair.replies?.setFlow(replies)
    }
  }

  /** Delays replies by `ms` plus up to `jitterMs`. */
  delay(ms: number, jitterMs = 0): void {
    this.setFlow({ replies: { kind: "delay", ms, jitterMs } })
  }

  /** Forwards requests, which the target carries out, and drops their replies. */
  dropReplies(): void {
    this.setFlow({ replies: { kind: "swallow" } })
  }

  throttle(bytesPerSecond: number): void {
    this.setFlow({ replies: { kind: "throttle", bytesPerSecond } })
  }

  /** Delivers `afterBytes` more bytes of replies on each connection, and then ends it in the middle of a reply. */
  cut(afterBytes: number, then: "close" | "reset" | "silence" = "close"): void {
    this.setFlow({ replies: { kind: "cut", afterBytes, then } })
  }

  /** Resets every open connection now, and every new one as soon as it opens. */
  reset(): void {
    this.#welcome = "reset"
    this.resetConnections()
  }

  /** Resets every open connection, and accepts new ones. */
  resetConnections(): void {
    for (const pair of [...this.#pairs]) this.#drop(pair, "reset")
    for (const client of this.#clients) abort(client)
  }

  /** Accepts every connection, drops all bytes, and neither answers nor closes. The target receives nothing. */
  halfOpen(): void {
    this.#welcome = "half-open"
    this.setFlow({ requests: { kind: "swallow" }, replies: { kind: "swallow" } })
  }

  /** Stops listening and resets all connections, as if the server had died. `pass` listens on the same port again. */
  async refuse(): Promise<void> {
    const server = this.#server
    this.#server = undefined
    const ends = [...this.#clients].map((client) => new Promise((done) => client.once("close", done)))
    if (server !== undefined) ends.push(new Promise((done) => server.close(done)))
    this.resetConnections()
    await Promise.all(ends)
  }

  /** Closes the proxy with its connections and releases the port. Safe to call twice. */
  async close(): Promise<void> {
    await this.refuse()
    await this.#releasePort()
  }

  async #listen(): Promise<void> {
    if (this.#server !== undefined) return
    const server = createServer({ allowHalfOpen: true, noDelay: true }, (client) => this.#accept(client))
    this.#server = server
    await new Promise<void>((resolve, reject) => {
      server.once("error", reject)
      server.listen({ host: this.host, port: this.port, exclusive: true }, resolve)
    })
  }

  #accept(client: Socket): void {
    this.stats.accepted++
    client.on("error", () => undefined)
    if (this.#welcome === "reset") {
      abort(client)
      return
    }
    this.stats.open++
    this.#clients.add(client)
    const pair = this.#welcome === "half-open" ? this.#swallowAll(client) : this.#join(client)
    this.#pairs.add(pair)
    client.once("close", () => {
      this.stats.open--
      this.#clients.delete(client)
      this.#drop(pair, "reset")
    })
  }

  #swallowAll(client: Socket): Pair {
    client.on("data", (chunk) => {
      this.stats.requestBytes += chunk.length
    })
    client.once("end", () => client.destroy())
    return { client, target: undefined, requests: undefined, replies: undefined }
  }

  #join(client: Socket): Pair {
    const target = connect({ ...this.#targetAddress, allowHalfOpen: true, noDelay: true })
    const cut = (how: "close" | "reset"): void => this.#drop(pair, how)
    const requests = new FaultyDirection(client, target, this.#requestFlow, {
      random: this.#random,
      cut,
      forwarded: (bytes) => {
        this.stats.requestBytesForwarded += bytes
      },
    })
    const replies = new FaultyDirection(target, client, this.#replyFlow, {
      random: this.#random,
      cut,
      forwarded: (bytes) => {
        this.stats.replyBytesForwarded += bytes
      },
    })
    const pair: Pair = { client, target, requests, replies }

    client.on("data", (chunk) => {
      this.stats.requestBytes += chunk.length
      requests.push(chunk)
    })
    target.on("data", (chunk) => {
      this.stats.replyBytes += chunk.length
      replies.push(chunk)
    })
    // A client that leaves is gone, whatever was lost before; a silent direction hides that the target has left.
    client.once("end", () => (requests.silent ? this.#drop(pair, "reset") : requests.push(undefined)))
    target.once("end", () => replies.push(undefined))
    target.on("error", () => {
      if (!replies.silent) this.#drop(pair, "reset")
    })
    return pair
  }

  #drop(pair: Pair, how: "close" | "reset"): void {
    if (!this.#pairs.delete(pair)) return
    pair.requests?.close()
    pair.replies?.close()
    pair.target?.destroy()
    if (how === "reset") {
      abort(pair.client)
      return
    }
    // Closing with unread bytes would turn the FIN into an RST, and the client could lose what it was just sent.
    pair.client.resume()
    pair.client.end()
    pair.client.once("end", () => pair.client.destroy())
  }
}

/** RST. A socket that has sent its FIN cannot be reset: Node would report an error and never close it. */
function abort(socket: Socket): void {
  if (socket.writableEnded) socket.destroy()
  else socket.resetAndDestroy()
}
