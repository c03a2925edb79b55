// Lines are gathered and written together, without waiting for whoever reads them: if that one is too slow, lines are dropped
// and counted.

import cluster from "node:cluster"
import { closeSync, openSync, write } from "node:fs"
import { SluiceError } from "sluice"
import { LineBytes } from "./line-bytes.js"

/** What may be told of a writer: lines that were dropped so far, or why some could not be written. */
export interface WriterTrouble {
  readonly dropped?: number
  readonly error?: string
}

export interface LineWriterOptions {
  /** Default: standard output. */
  readonly file?: string | undefined
  /** Told of the first line that is dropped, and of each ten thousandth; and of each write that failed. */
  readonly onTrouble?: ((trouble: WriterTrouble) => void) | undefined
}

/** Written together: about 200 lines. Smaller pieces cost a busy gateway a tenth of its time. */
const GATHERED = 65_536
/** Bytes held for a reader that is too slow. */
const MOST = 16 * 1_048_576
/** How long a line may wait for others. */
const GATHER_MS = 250
/** How soon a pipe that was full is tried again. */
const RETRY_MS = 10
/** How long the last lines may take. */
const LAST_MS = 1_000
const STDOUT = 1
/** Up to here a pipe takes a write as a whole. Workers share one, and would otherwise write into each other's lines. */
const PIPE_BYTES = 4_096
const LINE_FEED = 0x0a

export class LineWriter {
  readonly #file: string | undefined
  readonly #onTrouble: (trouble: WriterTrouble) => void
  /** 0 for no bound. */
  readonly #pieceBytes: number
  #fd: number
  /** Where the next line goes. */
  #lines = new LineBytes(GATHERED)
  /** Those before it that have no room for another line. */
  #full: LineBytes[] = []
  #fullBytes = 0
  /** Written, to be filled again. */
  #spare: LineBytes | undefined
  #timer: NodeJS.Timeout | undefined
  #writing: Promise<void> | undefined
  #dropped = 0

  /** Throws when the file cannot be written. */
  constructor({ file, onTrouble = () => {} }: LineWriterOptions) {
    this.#file = file
    this.#onTrouble = onTrouble
    this.#fd = file === undefined ? STDOUT : open(file)
    this.#pieceBytes = file === undefined && cluster.isWorker ? PIPE_BYTES : 0
  }

  /** Where the next line is to be put, which must be followed by `end`. Undefined when it is dropped. */
  begin(): LineBytes | undefined {
    if (this.#bytes > MOST) {
      if (this.#dropped++ % 10_000 === 0) this.#onTrouble({ dropped: this.#dropped })
      return undefined
    }
    if (this.#lines.length >= GATHERED) this.#turn()
    return this.#lines
  }

  end(): void {
    if (this.#bytes >= GATHERED) this.#flush()
    else this.#timer ??= setTimeout(() => this.#flush(), GATHER_MS).unref()
  }

  get #bytes(): number {
    return this.#fullBytes + this.#lines.length
  }

  /** Begins another page. */
  #turn(): void {
    this.#full.push(this.#lines)
    this.#fullBytes += this.#lines.length
    this.#lines = this.#spare ?? new LineBytes(GATHERED)
    this.#spare = undefined
  }

  /** Opens its file anew, after somebody has moved it away. If that fails it goes on with the old one. */
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

  /** Writes what is left, unless whoever reads it is too slow even now. */
  async close(): Promise<void> {
    const late = new Promise<void>((done) => setTimeout(done, LAST_MS).unref())
    await Promise.race([this.#writeAll(), late])
    clearTimeout(this.#timer)
    // A write that is still under way must not end up in whatever gets the number next.
    if (this.#file !== undefined && this.#writing === undefined) closeSync(this.#fd)
  }

  async #writeAll(): Promise<void> {
    while (this.#bytes > 0 || this.#writing !== undefined) {
      this.#flush()
      await this.#writing
    }
  }

  #flush(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    if (this.#writing !== undefined || this.#bytes === 0) return
    this.#turn()
    const full = this.#full
    this.#full = []
    this.#fullBytes = 0
    this.#writing = writePieces(this.#fd, full.flatMap(this.#piecesOf))
      .catch((error: Error) => this.#onTrouble({ error: error.message }))
      .then(() => {
        this.#writing = undefined
        this.#spare = full[0]
        this.#spare?.cut(0)
        // What has come meanwhile, if nothing comes any more.
        if (this.#bytes > 0) this.end()
      })
  }

  readonly #piecesOf = (lines: LineBytes): Buffer[] => {
    const bytes = lines.taken()
    return this.#pieceBytes === 0 ? [bytes] : wholeLines(bytes, this.#pieceBytes)
  }
}

function open(file: string): number {
  try {
    return openSync(file, "a")
  } catch (cause) {
    const expected = `must be a file that can be written: ${(cause as Error).message}`
    throw new SluiceError("ACCESS_LOG_IO", { place: "gateway.accessLog.file", expected, cause })
  }
}

/** Pieces of as many whole lines as fit. A line that does not fit is a piece of its own. */
export function wholeLines(bytes: Buffer, mostBytes: number): Buffer[] {
  const pieces: Buffer[] = []
  for (let from = 0; from < bytes.length; ) {
    const within = bytes.lastIndexOf(LINE_FEED, from + mostBytes - 1)
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
        // Standard output may be a pipe that does not block; it is full until somebody reads.
        if (error?.code === "EAGAIN") setTimeout(next, RETRY_MS, from)
        else if (error !== null) reject(error)
        else if (from + written < bytes.length) next(from + written)
        else resolve()
      })
    }
    next(0)
  })
}
