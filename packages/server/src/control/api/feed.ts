// Live events, as server-sent events: what the service watches, to whoever listens.
//
// A listener that does not read is cut off: what piles up for it would be memory without end. It comes back with the id of
// the last event it has seen, and is told what it has missed, as far as that is kept.

import type { IncomingMessage, ServerResponse } from "node:http"
import { SluiceError } from "sluice"
import { headersWith } from "./answer.js"

/** Who knows what happens. The service's watch is one. */
export interface EventSource {
  /** Returns a function that ends it. */
  subscribe(listener: (event: { readonly type: string }) => void): () => void
}

export interface FeedOptions {
  /** Default: 100. */
  readonly maxListeners?: number
  /** Events kept for who comes back. Default: 300, at least five minutes. */
  readonly kept?: number
  /** How often a comment is sent, so that proxies keep the connection. Default: 15,000. */
  readonly heartbeatMs?: number
  /** What may wait for one listener. Default: 1 MB. */
  readonly maxWaitingBytes?: number
}

interface Kept {
  readonly number: number
  readonly text: string
}

/** When a browser that lost its connection comes back. */
const RETRY_MS = 2_000

export class Feed {
  readonly #maxListeners: number
  readonly #mostKept: number
  readonly #heartbeatMs: number
  readonly #maxWaitingBytes: number
  readonly #unsubscribe: () => void
  /** Ids of another run mean other events. */
  readonly #run = Date.now().toString(36)
  readonly #listeners = new Set<ServerResponse>()
  /** Oldest first. */
  readonly #kept: Kept[] = []
  #last = 0
  #isClosed = false
  #heartbeat: NodeJS.Timeout | undefined

  constructor(source: EventSource, options: FeedOptions = {}) {
    this.#maxListeners = options.maxListeners ?? 100
    this.#mostKept = options.kept ?? 300
    this.#heartbeatMs = options.heartbeatMs ?? 15_000
    this.#maxWaitingBytes = options.maxWaitingBytes ?? 1_048_576
    this.#unsubscribe = source.subscribe((event) => this.#tell(event))
  }

  get listeners(): number {
    return this.#listeners.size
  }

  /** Answers a request with events, for as long as both sides want to. */
  open(request: IncomingMessage, response: ServerResponse): void {
    // A page whose stream was ended comes back at once, often on the connection that is about to be closed.
    if (this.#isClosed)
      throw new SluiceError("EVENTS_CLOSED", {
        place: "events",
        expected: "have ended: the service is stopping",
      })
    if (this.#listeners.size >= this.#maxListeners) {
      throw new SluiceError("EVENTS_FULL", {
        place: "events",
        expected: `may have ${this.#maxListeners} listeners at once; close one, or try again later`,
      })
    }
    // nginx would otherwise hold events back until it has a page full of them.
    const headers = { "content-type": "text/event-stream", "x-accel-buffering": "no" }
    response.writeHead(200, headersWith(headers))
    if (request.method === "HEAD") {
      response.end()
      return
    }
    response.write(`retry: ${RETRY_MS}\n: connected\n\n${this.#missed(request.headers["last-event-id"])}`)
    this.#listeners.add(response)
    response.on("close", () => this.#leave(response))
    this.#heartbeat ??= setInterval(() => this.#send(": still here\n\n"), this.#heartbeatMs).unref()
  }

  /** Ends every stream, so that nobody waits for them. */
  close(): void {
    this.#isClosed = true
    this.#unsubscribe()
    for (const response of this.#listeners) response.end()
  }

  #leave(response: ServerResponse): void {
    this.#listeners.delete(response)
    if (this.#listeners.size > 0) return
    clearInterval(this.#heartbeat)
    this.#heartbeat = undefined
  }

  #tell(event: { readonly type: string }): void {
    const number = ++this.#last
    const text = `id: ${this.#run}.${number}\nevent: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`
    this.#kept.push({ number, text })
    if (this.#kept.length > this.#mostKept) this.#kept.shift()
    this.#send(text)
  }

  #send(text: string): void {
    for (const response of this.#listeners) {
      if (response.writableLength > this.#maxWaitingBytes) response.destroy()
      else response.write(text)
    }
  }

  /** What came after the event with this id. Starts with `missed` when some of it is no longer kept. */
  #missed(id: string | string[] | undefined): string {
    if (id === undefined) return ""
    const [run, number] = String(id).split(".")
    const seen = run === this.#run && /^\d+$/.test(number ?? "") ? Number(number) : undefined
    if (seen === undefined || seen > this.#last) return "event: missed\ndata: {}\n\n"
    const after = this.#kept.filter((event) => event.number > seen)
    const isWhole = after.length === this.#last - seen
    return (isWhole ? "" : "event: missed\ndata: {}\n\n") + after.map(({ text }) => text).join("")
  }
}
