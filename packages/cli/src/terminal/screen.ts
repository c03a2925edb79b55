// The alternate screen of a terminal, for a program that redraws it.

import type { Terminal } from "./terminal.js"

const ENTER = "\x1b[?1049h\x1b[?25l"
const LEAVE = "\x1b[?25h\x1b[?1049l"

/** Shows the alternate screen until `close` is called or the process exits, and then restores what was there before. */
export class Screen {
  readonly #terminal: Terminal
  readonly #leave = () => this.close()
  #isOpen = true

  /** Calls `onKey` for every key that is pressed. Ctrl-C arrives as "\x03". */
  constructor(terminal: Terminal, onKey: (key: string) => void) {
    this.#terminal = terminal
    const { stdin, stdout } = terminal
    stdout.write(ENTER)
    process.on("exit", this.#leave)
    if (!stdin.isTTY) return
    stdin.setRawMode(true)
    stdin.setEncoding("utf8")
    stdin.on("data", (keys: string) => {
      for (const key of keys) onKey(key)
    })
  }

  get height(): number {
    return this.#terminal.stdout.rows ?? 24
  }

  /** Replaces everything on the screen. */
  draw(lines: readonly string[]): void {
    if (!this.#isOpen) return
    const text = lines.map((line) => `${line}\x1b[K`).join("\r\n")
    this.#terminal.stdout.write(`\x1b[H${text}\x1b[J`)
  }

  close(): void {
    if (!this.#isOpen) return
    this.#isOpen = false
    process.off("exit", this.#leave)
    const { stdin, stdout } = this.#terminal
    stdout.write(LEAVE)
    if (!stdin.isTTY) return
    stdin.setRawMode(false)
    stdin.pause()
  }
}
