// Reads logs from files and standard input as one stream.

import { createReadStream } from "node:fs"
import { stat } from "node:fs/promises"
import { type LoggedCost, type LogOptions, unpacked } from "@sluice/server/replay"
import { SluiceError } from "sluice"
import { UsageError } from "../../command.js"
import type { Terminal } from "../../terminal/terminal.js"

const NEWLINE = new Uint8Array([10])
const CSV_FIELDS = ["time", "ip", "method", "path", "host", "user", "apiKey", "tier", "bytes"]

/** The options of `replay` and `recommend` that say how to read a log. */
export interface LogFlags {
  readonly format: string | undefined
  readonly logFormat: string | undefined
  readonly column: readonly string[]
  readonly disorder: number
}

export function logOptionsOf({ format, logFormat, column, disorder }: LogFlags): LogOptions {
  if (logFormat !== undefined && format !== undefined && format !== "nginx")
    throw new UsageError("--log-format", `cannot be combined with --format ${format}`)
  if (column.length > 0 && format !== undefined && format !== "csv")
    throw new UsageError("--column", `cannot be combined with --format ${format}`)
  const csv = Object.fromEntries(column.map(columnOf))
  return {
    disorderMs: disorder,
    format:
      logFormat !== undefined
        ? { nginx: logFormat }
        : column.length > 0
          ? { csv }
          : (format as LogOptions["format"]),
  }
}

/** The real cost, by `--cost-field` or `--cost-bytes-per-unit`. */
export function loggedCostOf(
  fields: readonly string[],
  bytesPerUnit: number | undefined,
): LoggedCost | undefined {
  if (fields.length > 0 && bytesPerUnit !== undefined)
    throw new UsageError("--cost-field", "cannot be combined with --cost-bytes-per-unit")
  if (bytesPerUnit !== undefined) return { bytesPerUnit }
  return fields.length === 0 ? undefined : { field: Object.fromEntries(fields.map(weightOf)) }
}

function weightOf(text: string): [string, number] {
  const [, name, weight = "1"] = /^([^=]+)(?:=(\d+(?:\.\d+)?))?$/.exec(text) ?? []
  if (name !== undefined) return [name, Number(weight)]
  throw new UsageError("--cost-field", "must be <field> or <field>=<weight>, with a weight ≥ 0", {
    found: text,
  })
}

function columnOf(text: string): [string, string] {
  const equals = text.indexOf("=")
  const field = text.slice(0, equals)
  if (equals > 0 && CSV_FIELDS.includes(field) && equals + 1 < text.length)
    return [field, text.slice(equals + 1)]
  throw new UsageError("--column", `must be <field>=<column>, with a field of ${CSV_FIELDS.join(", ")}`, {
    found: text,
  })
}

/** The content of several logs, each decompressed if it is gzipped. */
export class LogInput {
  readonly #paths: readonly string[]
  readonly #terminal: Terminal
  /** How many bytes were read so far, before decompression. */
  bytes = 0

  constructor(paths: readonly string[], terminal: Terminal) {
    this.#paths = paths
    this.#terminal = terminal
  }

  /** The size of all files together. Undefined if one of them is standard input or a pipe. */
  async size(): Promise<number | undefined> {
    let size = 0
    for (const path of this.#paths) {
      if (path === "-") return undefined
      const found = await stat(path).catch((cause: NodeJS.ErrnoException) => {
        throw unreadable(path, cause)
      })
      if (found.isDirectory()) throw unreadable(path, { code: "EISDIR" } as NodeJS.ErrnoException)
      if (!found.isFile()) return undefined
      size += found.size
    }
    return size
  }

  async *chunks(): AsyncGenerator<Uint8Array> {
    for (const path of this.#paths) {
      let last = 10
      for await (const chunk of unpacked(this.#read(path))) {
        last = chunk.at(-1) ?? last
        yield chunk
      }
      // A file may end without a newline. Its last line must not be joined with the first line of the next file.
      if (last !== 10) yield NEWLINE
    }
  }

  async *#read(path: string): AsyncGenerator<Uint8Array> {
    const stream = path === "-" ? this.#terminal.stdin : createReadStream(path, { highWaterMark: 262_144 })
    try {
      for await (const chunk of stream as AsyncIterable<Uint8Array>) {
        this.bytes += chunk.length
        yield chunk
      }
    } catch (cause) {
      throw typeof (cause as NodeJS.ErrnoException).syscall === "string"
        ? unreadable(path, cause as NodeJS.ErrnoException)
        : cause
    }
  }
}

function unreadable(path: string, cause: NodeJS.ErrnoException): SluiceError {
  return new SluiceError("LOG_IO", { place: path, expected: `cannot be read (${cause.code})`, cause })
}
