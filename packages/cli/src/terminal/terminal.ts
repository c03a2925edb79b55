// Where a command reads and writes: results go to standard output, everything else to standard error.

import { styleText } from "node:util"

type Paint = (text: string) => string

/** The colours of the program. Every message also makes sense without them. */
export interface Style {
  readonly bold: Paint
  readonly dim: Paint
  readonly red: Paint
  readonly green: Paint
  readonly yellow: Paint
  readonly cyan: Paint
}

/**
 * Colours for text that is written to `stream`. Node decides whether there are any: a terminal gets them unless NO_COLOR
 * is set, and FORCE_COLOR turns them on everywhere.
 */
export function createStyle(stream: NodeJS.WritableStream): Style {
  const paint =
    (format: keyof Style): Paint =>
    (text) =>
      styleText(format, text, { stream })
  return {
    bold: paint("bold"),
    dim: paint("dim"),
    red: paint("red"),
    green: paint("green"),
    yellow: paint("yellow"),
    cyan: paint("cyan"),
  }
}

export interface Terminal {
  readonly stdin: NodeJS.ReadStream
  readonly stdout: NodeJS.WriteStream
  readonly stderr: NodeJS.WriteStream
  /** Colours for standard output. */
  readonly style: Style
  /** Colours for standard error. */
  readonly noteStyle: Style
  /** Whether standard output is a terminal. */
  readonly isInteractive: boolean
  /** Whether a progress bar may be drawn on standard error. */
  readonly showsProgress: boolean
  /** The columns of standard output; 80 if it is no terminal. */
  readonly width: number
  /** Prints a result of one or more lines. */
  print(text: string): void
  /** Prints a result as JSON. */
  json(value: unknown): void
  /** Prints a message that is no result: progress, a warning, an error. */
  note(text: string): void
}

interface Streams {
  readonly stdin: NodeJS.ReadStream
  readonly stdout: NodeJS.WriteStream
  readonly stderr: NodeJS.WriteStream
}

export function createTerminal(
  { stdin, stdout, stderr }: Streams,
  env: Readonly<Record<string, string | undefined>>,
): Terminal {
  return {
    stdin,
    stdout,
    stderr,
    style: createStyle(stdout),
    noteStyle: createStyle(stderr),
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
