// Where a command reads and writes: results on standard output, everything else on standard error.

import type { ReadStream, WriteStream } from "node:tty"
import { createStyle, type Style } from "./style.js"

export interface Terminal {
  readonly stdin: NodeJS.ReadStream
  readonly stdout: NodeJS.WriteStream
  readonly stderr: NodeJS.WriteStream
  /** Colours for what goes to standard output; texts are left as they are where none are wanted. */
  readonly style: Style
  /** The same for standard error. */
  readonly noteStyle: Style
  /** Whether a person looks at standard output. */
  readonly isInteractive: boolean
  /** Whether progress may be drawn: standard error is a terminal. */
  readonly showsProgress: boolean
  /** Columns of standard output; 80 where nobody knows. */
  readonly width: number
  /** A result: a line, or several. */
  print(text: string): void
  /** A result for programs. */
  json(value: unknown): void
  /** Progress, warnings and whatever else is no result. */
  note(text: string): void
}

interface Streams {
  readonly stdin: NodeJS.ReadStream
  readonly stdout: NodeJS.WriteStream
  readonly stderr: NodeJS.WriteStream
}

type Environment = Readonly<Record<string, string | undefined>>

export function createTerminal({ stdin, stdout, stderr }: Streams, env: Environment): Terminal {
  return {
    stdin,
    stdout,
    stderr,
    style: createStyle(hasColours(stdout, env)),
    noteStyle: createStyle(hasColours(stderr, env)),
    isInteractive: stdout.isTTY === true,
    showsProgress: stderr.isTTY === true && env.TERM !== "dumb",
    get width() {
      return stdout.columns ?? 80
    },
    print: (text) => void stdout.write(`${text}\n`),
    json: (value) => void stdout.write(`${JSON.stringify(value, null, 2)}\n`),
    note: (text) => void stderr.write(`${text}\n`),
  }
}

/** https://no-color.org: any value but none. */
function hasColours(stream: WriteStream | ReadStream | NodeJS.WriteStream, env: Environment): boolean {
  if ((env.NO_COLOR ?? "") !== "") return false
  if ((env.FORCE_COLOR ?? "") !== "") return env.FORCE_COLOR !== "0"
  return stream.isTTY === true && env.TERM !== "dumb"
}
