import { connect, createServer, type Server, type Socket } from "node:net"
import { type Flow, Lane } from "./fault-lane.js"
import { LOOPBACK, reservePort } from "./ports.js"

export interface FaultProxyOptions {
  /** Source of jitter in [0, 1). Give a seeded one to repeat a run. */
  random?: () => number
}

export interface FaultProxyStats {
  /** Connections accepted so far. */
  accepted: number
  /** Connections open now. */
  open: number
  /** Bytes that clients sent to the proxy, and how many of them the target got. */
  requestBytes: number
  requestBytesForwarded: number
  /** Bytes that the target sent to the proxy, and how many of them clients got. */
  replyBytes: number
  replyBytesForwarded: number
}

interface Pair {
  readonly client: Socket
  readonly target: Socket | undefined
  readonly requests: Lane | undefined
  readonly replies: Lane | undefined
}

const PASS: Flow = { kind: "pass" }

/**
 * A TCP proxy in front of one server that misbehaves on demand. What is set holds for existing and new connections:
 * a flow until another one is set for that direction; `reset`, `halfOpen` and `refuse` until `pass`.
 * A target that is down shows as a connection that is accepted and then reset.
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
  /** All sockets of clients, also those whose pair has been dropped but that have not closed yet. */
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

  /** Back to normal: listens, forwards. Held bytes arrive now; connections that lost bytes stay silent. */
  async pass(): Promise<void> {
    this.#welcome = "open"
    this.setFlow({ requests: PASS, replies: PASS })
    await this.#listen()
  }

  /** Sets one direction or both; the other stays as it is. */
  setFlow({ requests, replies }: { requests?: Flow; replies?: Flow }): void {
    this.#requestFlow = requests ?? this.#requestFlow
    this.#replyFlow = replies ?? this.#replyFlow
    for (const pair of this.#pairs) {
      if (requests !== undefined) pair.requests?.setFlow(requests)
      if (replies !== undefined) pair.replies?.setFlow(replies)
    }
  }

  /** Replies come later by `ms`, plus up to `jitterMs`. */
  delay(ms: number, jitterMs = 0): void {
    this.setFlow({ replies: { kind: "delay", ms, jitterMs } })
  }

  /** Requests reach the target and are carried out; their replies never come. */
  dropReplies(): void {
    this.setFlow({ replies: { kind: "swallow" } })
  }

  throttle(bytesPerSecond: number): void {
    this.setFlow({ replies: { kind: "throttle", bytesPerSecond } })
  }

  /** Each connection gets `afterBytes` more bytes of replies and then ends in the middle of one. */
  cut(afterBytes: number, then: "close" | "reset" | "silence" = "close"): void {
    this.setFlow({ replies: { kind: "cut", afterBytes, then } })
  }

  /** RST to every connection, now and as soon as a new one is made. */
  reset(): void {
    this.#welcome = "reset"
    this.resetConnections()
  }

  /** RST to the connections there are; new ones are welcome. */
  resetConnections(): void {
    for (const pair of [...this.#pairs]) this.#drop(pair, "reset")
    for (const client of this.#clients) abort(client)
  }

  /** Accepts everything, swallows everything, answers nothing, closes nothing; the target sees none of it. */
  halfOpen(): void {
    this.#welcome = "half-open"
    this.setFlow({ requests: { kind: "swallow" }, replies: { kind: "swallow" } })
  }

  /** Stops listening and resets what is open, as if the server had died. `pass` listens on the same port again. */
  async refuse(): Promise<void> {
    const server = this.#server
    this.#server = undefined
    const ends = [...this.#clients].map((client) => new Promise((done) => client.once("close", done)))
    if (server !== undefined) ends.push(new Promise((done) => server.close(done)))
    this.resetConnections()
    await Promise.all(ends)
  }

  /** Ends everything and gives the port back. Safe to call twice. */
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
    const requests = new Lane(client, target, this.#requestFlow, {
      random: this.#random,
      cut,
      forwarded: (bytes) => {
        this.stats.requestBytesForwarded += bytes
      },
    })
    const replies = new Lane(target, client, this.#replyFlow, {
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
