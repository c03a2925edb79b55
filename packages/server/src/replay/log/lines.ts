// Splits a log into lines, and unpacks it if it is gzip. A chunk is decoded as a whole and lines are slices of it, which is several
// times faster than decoding each line.

import { isAscii } from "node:buffer"
import { Readable } from "node:stream"
import { createGunzip } from "node:zlib"
import { SluiceError } from "sluice"
import type { LogChunks, ReplayProgress } from "../model/replay-options.js"

export interface LineOptions {
  readonly onProgress?: ((progress: ReplayProgress) => void) | undefined
  readonly signal?: AbortSignal | undefined
}

export interface LineCounts {
  readonly lines: number
  /** Bytes of the log, unpacked. */
  readonly bytes: number
}

/** Longer lines are dropped, so that a file without line ends cannot fill the memory. */
export const MAX_LINE_LENGTH = 1_048_576

/** Calls back for each line, without its line end. Rejects with the reason of the signal when that aborts. */
export async function eachLine(
  chunks: LogChunks,
  onLine: (line: string, number: number) => void,
  { onProgress, signal }: LineOptions = {},
): Promise<LineCounts> {
  let read = 0
  const counted = countedChunks(chunks, (bytes) => {
    read += bytes
  })
  const cutter = new LineCutter(onLine)
  let bytes = 0
  try {
    for await (const chunk of unpacked(counted)) {
      signal?.throwIfAborted()
      bytes += chunk.length
      cutter.push(chunk)
      onProgress?.({ bytes: read, lines: cutter.lines })
    }
  } catch (error) {
    signal?.throwIfAborted()
    throw error
  }
  cutter.end()
  onProgress?.({ bytes: read, lines: cutter.lines })
  return { lines: cutter.lines, bytes }
}

async function* countedChunks(chunks: LogChunks, onBytes: (bytes: number) => void) {
  for await (const chunk of chunks) {
    onBytes(chunk.length)
    if (chunk.length > 0) yield chunk
  }
}

/** Unpacks a log if it is gzip. */
export async function* unpacked(chunks: LogChunks): AsyncGenerator<Uint8Array> {
  const source = countedChunks(chunks, () => {})
  let head: Uint8Array = new Uint8Array()
  // The two bytes that mark gzip may arrive in two chunks.
  while (head.length < 2) {
    const { done, value } = await source.next()
    if (done === true) break
    head = head.length === 0 ? value : Buffer.concat([head, value])
  }
  const all = withHead(head, source)
  if (head[0] !== 0x1f || head[1] !== 0x8b) return yield* all
  const packed = Readable.from(all, { objectMode: false })
  try {
    yield* packed.compose(createGunzip({ chunkSize: 262_144 })) as AsyncIterable<Uint8Array>
  } catch (error) {
    throw isOfZlib(error) ? damaged(error) : error
  }
}

async function* withHead(head: Uint8Array, rest: AsyncGenerator<Uint8Array>) {
  if (head.length > 0) yield head
  yield* rest
}

function isOfZlib(error: unknown): error is Error {
  return error instanceof Error && String((error as NodeJS.ErrnoException).code).startsWith("Z_")
}

function damaged(cause: Error): SluiceError {
  const expected = `must be a whole gzip file; it is damaged or cut short (${cause.message})`
  return new SluiceError("LOG_IO", { place: "log", expected, cause })
}

/** Splits text into lines across chunks. */
class LineCutter {
  readonly #onLine: (line: string, number: number) => void
  #rest = ""
  #isAscii = true
  /** Whether a line is too long, so that the rest of it is dropped. */
  #isSkipping = false
  lines = 0

  constructor(onLine: (line: string, number: number) => void) {
    this.#onLine = onLine
  }

  push(chunk: Uint8Array): void {
    const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength)
    // Nearly all logs are ASCII. Others are decoded line by line, because a character may span two chunks.
    this.#isAscii = isAscii(bytes) && (this.#rest === "" || this.#isAscii)
    const text = bytes.toString("latin1")
    let start = 0
    let end = text.indexOf("\n")
    while (end >= 0) {
      const line = text.slice(start, end)
      if (start > 0 || this.#rest === "") this.#line(line)
      else this.#line(this.#rest + line)
      start = end + 1
      end = text.indexOf("\n", start)
    }
    this.#rest = start === 0 ? this.#rest + text : text.slice(start)
    if (this.#rest.length > MAX_LINE_LENGTH) {
      this.#isSkipping = true
      this.#rest = this.#rest.slice(0, 100)
    }
  }

  end(): void {
    if (this.#rest !== "") this.#line(this.#rest)
    this.#rest = ""
  }

  #line(raw: string): void {
    this.lines++
    if (this.#isSkipping) {
      this.#isSkipping = false
      // Its length tells the reader that the line is too long.
      this.#onLine(raw.slice(0, 100).padEnd(MAX_LINE_LENGTH + 1), this.lines)
      return
    }
    let line = raw.charCodeAt(raw.length - 1) === 13 ? raw.slice(0, -1) : raw
    if (!this.#isAscii) line = Buffer.from(line, "latin1").toString("utf8")
    if (this.lines === 1 && line.charCodeAt(0) === 0xfeff) line = line.slice(1)
    this.#onLine(line, this.lines)
  }
}
