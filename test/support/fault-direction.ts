import type { Socket } from "node:net"

/** What the proxy does with the bytes of one direction. */
export type Flow =
  | { readonly kind: "pass" }
  /** Delays every byte by `ms` plus up to `jitterMs`, and keeps the order. */
  | { readonly kind: "delay"; readonly ms: number; readonly jitterMs?: number }
  | { readonly kind: "throttle"; readonly bytesPerSecond: number }
  /** Holds all bytes back until another flow is set, and then delivers them. */
  | { readonly kind: "hold" }
  /** Drops all bytes. A connection that lost bytes delivers nothing more in this direction until it closes. */
  | { readonly kind: "swallow" }
  /** Delivers `afterBytes` more bytes of each connection, and then sends FIN, sends RST, or delivers nothing more. */
  | { readonly kind: "cut"; readonly afterBytes: number; readonly then?: "close" | "reset" | "silence" }

export interface DirectionEvents {
  forwarded(bytes: number): void
  cut(how: "close" | "reset"): void
  random(): number
}

interface Parcel {
  /** `undefined` marks the end of the stream. */
  readonly bytes: Buffer | undefined
  readonly dueAt: number
}

/** The most bytes to queue. Beyond it the proxy stops reading, so the sender gets back-pressure as on a real network. */
const READ_AHEAD_BYTES = 1 << 20
/** Splits throttled bytes into slices of 20 ms, so that they arrive evenly and not in bursts. */
const THROTTLE_SLICE_MS = 20

/** Forwards one direction of one connection, with the faults of its flow. */
export class FaultyDirection {
  readonly #from: Socket
  readonly #to: Socket
  readonly #events: DirectionEvents
  #flow: Flow = { kind: "pass" }
  #queue: Parcel[] = []
  #queuedBytes = 0
  #lastDueAt = 0
  #cutLeft = 0
  #silent = false
  #timer: NodeJS.Timeout | undefined

  constructor(from: Socket, to: Socket, flow: Flow, events: DirectionEvents) {
    this.#from = from
    this.#to = to
    this.#events = events
    this.setFlow(flow)
    to.on("drain", () => this.#pump())
  }

  /** True after bytes were lost. The receiver must then get nothing more from this direction, not even its end. */
  get silent(): boolean {
    return this.#silent || this.#flow.kind === "swallow"
  }

  setFlow(flow: Flow): void {
    this.#flow = flow
    this.#lastDueAt = 0
    if (flow.kind === "cut") this.#cutLeft = flow.afterBytes
    const waiting = this.#queue
    this.#queue = []
    this.#queuedBytes = 0
    for (const { bytes } of waiting) this.push(bytes)
    this.#pump()
  }

  push(bytes: Buffer | undefined): void {
    if (this.#silent) return
    if (this.#flow.kind === "swallow") {
      this.#silence()
      return
    }
    for (const slice of this.#slices(bytes)) {
      this.#queue.push({ bytes: slice, dueAt: this.#dueAt(slice?.length ?? 0) })
      this.#queuedBytes += slice?.length ?? 0
    }
    this.#pump()
  }

  close(): void {
    clearTimeout(this.#timer)
    this.#queue = []
    this.#silent = true
  }

  #slices(bytes: Buffer | undefined): (Buffer | undefined)[] {
    if (bytes === undefined || this.#flow.kind !== "throttle") return [bytes]
    const size = Math.max(1, Math.floor((this.#flow.bytesPerSecond * THROTTLE_SLICE_MS) / 1_000))
    const slices: Buffer[] = []
    for (let start = 0; start < bytes.length; start += size) slices.push(bytes.subarray(start, start + size))
    return slices
  }

  #dueAt(length: number): number {
    const now = performance.now()
    const flow = this.#flow
    let dueAt = now
    if (flow.kind === "delay") dueAt = now + flow.ms + this.#events.random() * (flow.jitterMs ?? 0)
    if (flow.kind === "throttle")
      dueAt = Math.max(now, this.#lastDueAt) + (length / flow.bytesPerSecond) * 1_000
    this.#lastDueAt = Math.max(this.#lastDueAt, dueAt)
    return this.#lastDueAt
  }

  #pump(): void {
    clearTimeout(this.#timer)
    while (this.#flow.kind !== "hold" && !this.#to.writableNeedDrain) {
      const next = this.#queue[0]
      if (next === undefined) break
      const wait = next.dueAt - performance.now()
      if (wait > 0) {
        this.#timer = setTimeout(() => this.#pump(), wait)
        break
      }
      this.#queue.shift()
      this.#queuedBytes -= next.bytes?.length ?? 0
      this.#deliver(next.bytes)
    }
    if (this.#queuedBytes > READ_AHEAD_BYTES) this.#from.pause()
    else this.#from.resume()
  }

  #deliver(bytes: Buffer | undefined): void {
    if (bytes === undefined) {
      this.#to.end()
      return
    }
    if (this.#flow.kind !== "cut" || bytes.length < this.#cutLeft) {
      this.#cutLeft -= bytes.length
      this.#write(bytes)
      return
    }
    this.#write(bytes.subarray(0, this.#cutLeft))
    const how = this.#flow.then ?? "close"
    this.#silence()
    if (how !== "silence") this.#events.cut(how)
  }

  #write(bytes: Buffer): void {
    if (bytes.length === 0 || !this.#to.writable) return
    this.#events.forwarded(bytes.length)
    this.#to.write(bytes)
  }

  #silence(): void {
    this.#silent = true
    this.#queue = []
    this.#queuedBytes = 0
  }
}
