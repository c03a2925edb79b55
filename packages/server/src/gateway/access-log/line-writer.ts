// Gathers lines and writes them together, without ever waiting for the reader of the file or pipe. When the reader is too slow,
// lines are dropped and counted.

import cluster from "node:cluster"
import { closeSync, openSync, write } from "node:fs"
import { SluiceError } from "sluice"
import { ByteWriter } from "../../byte-writer.js"

/** A problem of a writer: the number of lines dropped so far, or why a write failed. */
export interface WriterTrouble {
  readonly dropped?: number
  readonly error?: string
}

export interface LineWriterOptions {
  /** Default: standard output. */
  readonly file?: string | undefined
  /** Called for the first dropped line, for every 10,000th after it, and for each failed write. */
  readonly onTrouble?: ((trouble: WriterTrouble) => void) | undefined
}

/** Lines are written when this many bytes are gathered: about 200 lines. */
const FLUSH_BYTES = 65_536
/** What is held for a reader that is too slow; further lines are dropped. */
const MAX_HELD = 16 * 1_048_576
/** How long a line may wait for others. */
const FLUSH_MS = 250
/** How soon a write to a full pipe is tried again. */
const RETRY_MS = 10
/** How long `close` waits for the last lines. */
const CLOSE_MS = 1_000
const STDOUT = 1
/** A pipe accepts a write of this size as a whole. Workers share standard output; longer writes would mix their lines. */
const PIPE_BYTES = 4_096
const LINE_FEED = 0x0a

export class LineWriter {
  readonly #file: string | undefined
  readonly #onTrouble: (trouble: WriterTrouble) => void
  /** The largest single write; 0 for no limit. */
  readonly #maxWriteBytes: number
  #fd: number
  /** Lines as bytes. As strings they would survive the collections of young objects until they are written. */
  #held = new LineBuffer()
  /** Takes the lines that arrive while `#held` is written. */
  #spare = new LineBuffer()
  #timer: NodeJS.Timeout | undefined
  #writing: Promise<void> | undefined
  #dropped = 0

  /** Throws when the file cannot be written. */
  constructor({ file, onTrouble = () => {} }: LineWriterOptions) {
    this.#file = file
    this.#onTrouble = onTrouble
    this.#fd = file === undefined ? STDOUT : open(file)
    this.#maxWriteBytes = file === undefined && cluster.isWorker ? PIPE_BYTES : 0
  }

  /** Adds a line, which ends with a line feed. It is dropped when too much is held already. */
  write(line: string): void {
    if (this.#held.length > MAX_HELD) {
      if (this.#dropped++ % 10_000 === 0) this.#onTrouble({ dropped: this.#dropped })
      return
    }
    this.#held.add(line)
    this.#flushSoon()
  }

  /** Opens the file again, after a log rotation has moved it. When that fails, the old file stays in use. */
  async reopen(): Promise<void> {
    if (this.#file === undefined) return
    try {
      const next = open(this.#file)
      const before = this.#fd
      this.#fd = next
      await this.#writing
      closeSync(before)
    } catch (error) {
      this.#onTrouble({ error: (error as Error).message })
    }
  }

  /** Writes the remaining lines, unless the reader is too slow. */
  async close(): Promise<void> {
    const late = new Promise<void>((done) => setTimeout(done, CLOSE_MS).unref())
    await Promise.race([this.#writeAll(), late])
    clearTimeout(this.#timer)
    // A write in progress must not end up in another file that receives the same descriptor.
    if (this.#file !== undefined && this.#writing === undefined) closeSync(this.#fd)
  }

  async #writeAll(): Promise<void> {
    while (this.#held.length > 0 || this.#writing !== undefined) {
      this.#flush()
      await this.#writing
    }
  }

  #flushSoon(): void {
    if (this.#held.length >= FLUSH_BYTES) this.#flush()
    else this.#timer ??= setTimeout(() => this.#flush(), FLUSH_MS).unref()
  }

  #flush(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    const held = this.#held
    if (this.#writing !== undefined || held.length === 0) return
    this.#held = this.#spare
    const bytes = held.written()
    const pieces = this.#maxWriteBytes === 0 ? [bytes] : splitAtLines(bytes, this.#maxWriteBytes)
    this.#writing = writePieces(this.#fd, pieces)
      .catch((error: Error) => this.#onTrouble({ error: error.message }))
      .then(() => {
        this.#writing = undefined
        held.clear()
        this.#spare = held
        // Lines that arrived during the write: no later line may come to flush them.
        if (this.#held.length > 0) this.#flushSoon()
      })
  }
}

/** UTF-8 has at most three bytes for each unit of a string. */
const MAX_UNIT_BYTES = 3

class LineBuffer extends ByteWriter {
  add(line: string): void {
    this.room(line.length * MAX_UNIT_BYTES)
    this.length += this.buffer.write(line, this.length, "utf8")
  }
}

function open(file: string): number {
  try {
    return openSync(file, "a")
  } catch (cause) {
    const expected = `must be a writable file: ${(cause as Error).message}`
    throw new SluiceError("ACCESS_LOG_IO", { place: "gateway.accessLog.file", expected, cause })
  }
}

/** Splits into pieces of as many whole lines as fit. A line that does not fit is a piece of its own. */
export function splitAtLines(bytes: Buffer, maxBytes: number): Buffer[] {
  const pieces: Buffer[] = []
  for (let from = 0; from < bytes.length; ) {
    const within = bytes.lastIndexOf(LINE_FEED, from + maxBytes - 1)
    const end = (within >= from ? within : bytes.indexOf(LINE_FEED, from)) + 1
    pieces.push(bytes.subarray(from, end))
    from = end
  }
  return pieces
}

async function writePieces(fd: number, pieces: readonly Buffer[]): Promise<void> {
  for (const piece of pieces) await writeWhole(fd, piece)
}

function writeWhole(fd: number, bytes: Buffer): Promise<void> {
  return new Promise((resolve, reject) => {
    const next = (from: number): void => {
      write(fd, bytes, from, bytes.length - from, null, (error, written) => {
        // Standard output may be a non-blocking pipe that is full until its reader reads.
        if (error?.code === "EAGAIN") setTimeout(next, RETRY_MS, from)
        else if (error !== null) reject(error)
        else if (from + written < bytes.length) next(from + written)
        else resolve()
      })
    }
    next(0)
  })
}
