// A whole terminal for a while: what was on it before is there again afterwards, however the program ends.

import type { Terminal } from "./terminal.js"

const ENTER = "\x1b[?1049h\x1b[?25l"
const LEAVE = "\x1b[?25h\x1b[?1049l"

export class Screen {
  readonly #terminal: Terminal
  readonly #leave = () => this.close()
  #isOpen = true

  /** `onKey` is told of every key; Ctrl-C is "\x03". */
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

  /** Lines in place of those that are there. */
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
