import { type Clock, systemClock } from "sluice"
import { combinedLine, jsonLine } from "./access-line.js"
import type { Forwarded } from "./gateway-watch.js"
import { LineWriter, type LineWriterOptions } from "./line-writer.js"

export interface AccessLogOptions extends LineWriterOptions {
  readonly format: "json" | "combined"
  readonly clock?: Clock
}

/** A line for each request. */
export class AccessLog {
  readonly #line: (event: Forwarded, now: number) => string
  readonly #writer: LineWriter
  readonly #clock: Clock

  /** Throws when its file cannot be written. */
  constructor({ format, clock = systemClock, ...options }: AccessLogOptions) {
    this.#line = format === "json" ? jsonLine : combinedLine
    this.#clock = clock
    this.#writer = new LineWriter(options)
  }

  write(event: Forwarded): void {
    this.#writer.write(this.#line(event, this.#clock.now()))
  }

  /** Opens its file anew, after somebody has moved it away. */
  reopen(): Promise<void> {
    return this.#writer.reopen()
  }

  /** Writes what is left. */
  close(): Promise<void> {
    return this.#writer.close()
  }
}
