// Reads a log of any format and delivers its requests in order of time.

import { SluiceError } from "sluice"
import type { LogChunks, LoggedCost, LogOptions } from "../model/replay-options.js"
import type { Disorder, UnreadableLine } from "../model/report.js"
import { LINES_TO_DETECT, readerFor } from "./detect.js"
import { eachLine, MAX_LINE_LENGTH } from "./lines.js"
import { costReader } from "./logged-cost.js"
import { type LoggedRequest, type LogReader, readLine } from "./logged-request.js"
import { TimeSorter } from "./time-sorter.js"

export interface ReadLogOptions extends LogOptions {
  /** Whether the rules match headers. */
  readonly headers: boolean
  readonly cost?: LoggedCost | undefined
}

/** The summary of a log after reading it. */
export interface LogSummary {
  readonly format: string
  readonly lines: number
  readonly bytes: number
  readonly requests: number
  readonly unreadable: { readonly count: number; readonly first: readonly UnreadableLine[] }
  readonly disorder: Disorder
}

const DEFAULT_DISORDER_MS = 60_000
const UNREADABLE_SHOWN = 20
const MAX_SHOWN = 200

/** Calls back for each request, earliest first. */
export async function readLog(
  chunks: LogChunks,
  onRequest: (request: LoggedRequest) => void,
  options: ReadLogOptions,
): Promise<LogSummary> {
  const log = new LogInput(onRequest, options)
  const { lines, bytes } = await eachLine(chunks, (line, number) => log.line(line, number), options)
  return { ...log.end(), lines, bytes }
}

class LogInput {
  readonly #options: ReadLogOptions
  readonly #sorter: TimeSorter
  /** The first lines, until the format is known. */
  #waiting: string[] | undefined = []
  #reader: LogReader | undefined
  #costOf: (() => number | undefined) | undefined
  #requests = 0
  #unreadable = 0
  readonly #first: UnreadableLine[] = []

  constructor(onRequest: (request: LoggedRequest) => void, options: ReadLogOptions) {
    this.#options = options
    this.#sorter = new TimeSorter(onRequest, options.disorderMs ?? DEFAULT_DISORDER_MS)
  }

  line(line: string, number: number): void {
    if (this.#reader === undefined) {
      this.#waiting?.push(line)
      if (number >= LINES_TO_DETECT) this.#detect()
      return
    }
    const read =
      line.length > MAX_LINE_LENGTH ? `longer than ${MAX_LINE_LENGTH} bytes` : readLine(this.#reader, line)
    if (typeof read === "object") {
      const cost = this.#costOf?.()
      if (cost !== undefined) read.realCost = cost
      this.#requests++
      this.#sorter.push(read)
    } else if (read !== undefined) this.#refuse(line, number, read)
  }

  end(): Omit<LogSummary, "lines" | "bytes"> {
    if (this.#reader === undefined) this.#detect()
    const [first] = this.#first
    if (this.#requests === 0 && first !== undefined) {
      throw new SluiceError("LOG_FORMAT_INVALID", {
        place: "log",
        expected: `has no line that can be read as ${this.#reader?.format}; line ${first.line}: ${first.reason}`,
        found: first.text,
      })
    }
    this.#sorter.end()
    return {
      format: (this.#reader as LogReader | undefined)?.format ?? "",
      requests: this.#requests,
      unreadable: { count: this.#unreadable, first: this.#first },
      disorder: this.#sorter.disorder,
    }
  }

  #detect(): void {
    const lines = this.#waiting ?? []
    this.#waiting = undefined
    this.#reader = readerFor(lines, this.#options.format, this.#options)
    this.#costOf = costReader(this.#reader, this.#options.cost)
    lines.forEach((line, i) => {
      this.line(line, i + 1)
    })
  }

  #refuse(line: string, number: number, reason: string): void {
    this.#unreadable++
    if (this.#first.length >= UNREADABLE_SHOWN) return
    const text = line.length > MAX_SHOWN ? `${line.slice(0, MAX_SHOWN).trimEnd()}…` : line
    this.#first.push({ line: number, reason, text })
  }
}
