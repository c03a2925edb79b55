import type { Socket } from "node:net"

/** What happens to the bytes of one direction. */
export type Flow =
  | { readonly kind: "pass" }
  /** Every byte arrives `ms` later, plus up to `jitterMs`; the order is kept. */
  | { readonly kind: "delay"; readonly ms: number; readonly jitterMs?: number }
  | { readonly kind: "throttle"; readonly bytesPerSecond: number }
  /** Nothing arrives until another flow is set; then all of it does, late. */
  | { readonly kind: "hold" }
  /** Nothing arrives, ever: a connection that lost bytes stays silent in this direction for the rest of its life. */
  | { readonly kind: "swallow" }
  /** `afterBytes` more bytes of each connection arrive, then it ends: by FIN, by RST, or by silence. */
  | { readonly kind: "cut"; readonly afterBytes: number; readonly then?: "close" | "reset" | "silence" }

export interface LaneEvents {
  forwarded(bytes: number): void
  cut(how: "close" | "reset"): void
  random(): number
}

interface Parcel {
  /** `undefined` stands for the end of the stream. */
  readonly bytes: Buffer | undefined
  readonly dueAt: number
}

/** More than this is not read ahead, so a held or throttled peer feels back-pressure as on a real network. */
const READ_AHEAD_BYTES = 1 << 20
/** Throttled bytes go in slices of 20 ms, so that they trickle and do not come in lumps. */
const THROTTLE_SLICE_MS = 20

/** One direction of one connection. */
export class Lane {
  readonly #from: Socket
  readonly #to: Socket
  readonly #events: LaneEvents
  #flow: Flow = { kind: "pass" }
  #queue: Parcel[] = []
  #queuedBytes = 0
  #lastDueAt = 0
  #cutLeft = 0
  #silent = false
  #timer: NodeJS.Timeout | undefined

  constructor(from: Socket, to: Socket, flow: Flow, events: LaneEvents) {
    this.#from = from
    this.#to = to
    this.#events = events
    this.setFlow(flow)
    to.on("drain", () => this.#pump())
  }

  /** True once bytes were lost: the other end must not learn anything more from this direction, not even its end. */
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
