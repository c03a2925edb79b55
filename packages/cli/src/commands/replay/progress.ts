import { count, duration } from "@sluice/server/replay"
import type { Terminal } from "../../terminal/terminal.js"
import type { LogInput } from "./log-input.js"

const REDRAW_MS = 100
const BAR_WIDTH = 24

/** A progress bar with rate and remaining time, drawn if standard error is a terminal. */
export class Progress {
  readonly #terminal: Terminal
  readonly #input: LogInput
  readonly #size: number | undefined
  readonly #started = performance.now()
  #drawn = 0

  constructor(terminal: Terminal, input: LogInput, size: number | undefined) {
    this.#terminal = terminal
    this.#input = input
    this.#size = size
  }

  update(lines: number): void {
    const now = performance.now()
    if (!this.#terminal.showsProgress || now - this.#drawn < REDRAW_MS) return
    this.#drawn = now
    const seconds = (now - this.#started) / 1000
    this.#terminal.stderr.write(`\r\x1b[K${progressLine(lines, seconds, this.#input.bytes, this.#size)}`)
  }

  /** Clears the line. */
  end(): void {
    if (this.#drawn > 0) this.#terminal.stderr.write("\r\x1b[K")
  }
}

export function progressLine(
  lines: number,
  seconds: number,
  bytes: number,
  size: number | undefined,
): string {
  const rate = `${count(lines)} lines, ${count(lines / Math.max(seconds, 0.001))} a second`
  if (size === undefined || size === 0) return rate
  const share = Math.min(1, bytes / size)
  const filled = Math.round(share * BAR_WIDTH)
  const left = share > 0 ? `, ${duration(Math.ceil(((1 - share) / share) * seconds) * 1000)} left` : ""
  return `${"█".repeat(filled)}${"░".repeat(BAR_WIDTH - filled)} ${Math.floor(share * 100)}%  ${rate}${left}`
}
