import { type Clock, systemClock } from "sluice"
import type { Forwarded } from "../front/gateway-watch.js"
import { putCombinedLine, putJsonLine } from "./access-line.js"
import type { LineBytes } from "./line-bytes.js"
import { LineWriter, type LineWriterOptions, type WriterTrouble } from "./line-writer.js"

export interface AccessLogOptions extends LineWriterOptions {
  readonly format: "json" | "combined"
  readonly clock?: Clock
}

/** A line for each request. */
export class AccessLog {
  readonly #put: (lines: LineBytes, event: Forwarded, now: number) => void
  readonly #writer: LineWriter
  readonly #clock: Clock
  readonly #onTrouble: (trouble: WriterTrouble) => void
  /** Requests that ended in this turn of the event loop, and when. */
  #ended: Forwarded[] = []
  #times: number[] = []

  /** Throws when its file cannot be written. */
  constructor({ format, clock = systemClock, ...options }: AccessLogOptions) {
    this.#put = format === "json" ? putJsonLine : putCombinedLine
    this.#clock = clock
    this.#onTrouble = options.onTrouble ?? (() => {})
    this.#writer = new LineWriter(options)
  }

  /** Lines are put together at the end of the turn, one right after the other: in between other work each takes twice as long. */
  write(event: Forwarded): void {
    this.#times.push(this.#clock.now())
    if (this.#ended.push(event) === 1) setImmediate(this.#putAll)
  }

  readonly #putAll = (): void => {
    const ended = this.#ended
    const times = this.#times
    this.#ended = []
    this.#times = []
    for (let i = 0; i < ended.length; i++) this.#putOne(ended[i] as Forwarded, times[i] as number)
  }

  #putOne(event: Forwarded, now: number): void {
    const lines = this.#writer.begin()
    if (lines === undefined) return
    const start = lines.length
    try {
      this.#put(lines, event, now)
    } catch (error) {
      // A mistake of ours, which must not bring down what is watched.
      lines.cut(start)
      this.#onTrouble({ error: String(error) })
    }
    this.#writer.end()
  }

  /** Opens its file anew, after somebody has moved it away. */
  reopen(): Promise<void> {
    this.#putAll()
    return this.#writer.reopen()
  }

  /** Writes what is left. */
  close(): Promise<void> {
    this.#putAll()
    return this.#writer.close()
  }
}
