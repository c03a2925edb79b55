// Sends live events as server-sent events.
//
// A listener that does not read is disconnected, so that its backlog cannot grow without bound. When it reconnects with the id of
// its last event, it gets the events that it has missed, as far as they are kept.

import type { IncomingMessage, ServerResponse } from "node:http"
import { SluiceError } from "sluice"
import { headersWith } from "./answer.js"

/** A source of events, such as the service's telemetry. */
export interface EventSource {
  /** Adds a listener. Returns a function that removes it. */
  subscribe(listener: (event: { readonly type: string }) => void): () => void
}

export interface FeedOptions {
  /** Default: 100. */
  readonly maxListeners?: number
  /** How many events are kept for listeners that reconnect. Default: 600, which is usually five minutes or more. */
  readonly kept?: number
  /** How often a comment is sent to keep connections through proxies open, in milliseconds. Default: 15,000. */
  readonly heartbeatMs?: number
  /** The most bytes that may wait for one listener. Default: 1 MB. */
  readonly maxWaitingBytes?: number
}

interface Kept {
  readonly number: number
  readonly text: string
}

/** When a browser reconnects after it has lost its connection. */
const RETRY_MS = 2_000

export class Feed {
  readonly #maxListeners: number
  readonly #maxKept: number
  readonly #heartbeatMs: number
  readonly #maxWaitingBytes: number
  readonly #unsubscribe: () => void
  /** Part of every event id: ids of an earlier run mean other events. */
  readonly #run = Date.now().toString(36)
  readonly #listeners = new Set<ServerResponse>()
  /** Oldest first. */
  readonly #kept: Kept[] = []
  #last = 0
  #isClosed = false
  #heartbeat: NodeJS.Timeout | undefined

  constructor(source: EventSource, options: FeedOptions = {}) {
    this.#maxListeners = options.maxListeners ?? 100
    this.#maxKept = options.kept ?? 600
    this.#heartbeatMs = options.heartbeatMs ?? 15_000
    this.#maxWaitingBytes = options.maxWaitingBytes ?? 1_048_576
    this.#unsubscribe = source.subscribe((event) => this.#publish(event))
  }

  get listeners(): number {
    return this.#listeners.size
  }

  /** Answers a request with events until one side ends the stream. */
  open(request: IncomingMessage, response: ServerResponse): void {
    // A page whose stream has ended reconnects at once, often on the connection that is about to close.
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
    // Stops nginx from buffering the events.
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

  /** Ends every stream. */
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

  #publish(event: { readonly type: string }): void {
    const number = ++this.#last
    const text = `id: ${this.#run}.${number}\nevent: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`
    this.#kept.push({ number, text })
    if (this.#kept.length > this.#maxKept) this.#kept.shift()
    this.#send(text)
  }

  #send(text: string): void {
    for (const response of this.#listeners) {
      if (response.writableLength > this.#maxWaitingBytes) response.destroy()
      else response.write(text)
    }
  }

  /** The events after this id. Begins with `missed` if some of them are no longer kept. */
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
