// A log file that rotates: when it is full it is renamed to `.1`, `.1` to `.2`, and the oldest is deleted. Several processes may
// write to one file; each writes whole lines. Memory is bounded too.

import { type FileHandle, open, rename, rm, stat } from "node:fs/promises"

export interface RecordFileOptions {
  readonly file: string
  /** The most bytes of one file. */
  readonly maxBytes: number
  /** How many files are kept, including the current one. */
  readonly files: number
  /** The first line of each file. */
  readonly header: string
  /** Called with the first failure, and again with the first failure after a success. */
  readonly onError: (error: unknown) => void
}

const FLUSH_MS = 200
/** The most bytes that wait for a slow disk. Further lines are dropped. */
const MAX_HELD = 4_194_304
/** A lock older than this belongs to a process that died during a rotation. */
const STALE_LOCK_MS = 10_000

export class RecordFile {
  readonly #options: RecordFileOptions
  #lines: string[] = []
  #held = 0
  #dropped = 0
  #timer: NodeJS.Timeout | undefined
  #writing: Promise<void> = Promise.resolve()
  #isFailing = false

  constructor(options: RecordFileOptions) {
    this.#options = options
  }

  /** How many lines were lost because the disk was too slow or failed. */
  get dropped(): number {
    return this.#dropped
  }

  write(line: string): void {
    if (this.#held + line.length > MAX_HELD) {
      this.#dropped++
      return
    }
    this.#lines.push(line)
    this.#held += line.length + 1
    this.#timer ??= setTimeout(() => this.flush(), FLUSH_MS).unref()
  }

  /** Writes the waiting lines. It never rejects, because a full disk must not stop decisions. */
  flush(): Promise<void> {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#writing = this.#writing.then(() => this.#write())
    return this.#writing
  }

  async close(): Promise<void> {
    await this.flush()
  }

  async #write(): Promise<void> {
    const lines = this.#lines
    if (lines.length === 0) return
    this.#lines = []
    try {
      await this.#append(lines)
      this.#isFailing = false
    } catch (error) {
      this.#dropped += lines.length
      if (!this.#isFailing) this.#options.onError(error)
      this.#isFailing = true
    } finally {
      this.#held -= lines.reduce((sum, line) => sum + line.length + 1, 0)
    }
  }

  /** Opens the file for each write, because another process may have rotated it. */
  async #append(lines: readonly string[]): Promise<void> {
    const { file, header, maxBytes } = this.#options
    if ((await sizeOf(file)) >= maxBytes) await this.#rotate()
    const handle: FileHandle = await open(file, "a", 0o600)
    try {
      const { size } = await handle.stat()
      await handle.appendFile(`${size === 0 ? `${header}\n` : ""}${lines.join("\n")}\n`)
    } finally {
      await handle.close()
    }
  }

  async #rotate(): Promise<void> {
    const { file, files, maxBytes } = this.#options
    const lock = `${file}.lock`
    const handle = await takeLock(lock)
    // Another process is rotating.
    if (handle === undefined) return
    try {
      // Another process has just rotated.
      if ((await sizeOf(file)) < maxBytes) return
      const name = (index: number) => (index === 0 ? file : `${file}.${index}`)
      await rm(name(files - 1), { force: true })
      for (let i = files - 1; i > 0; i--) await rename(name(i - 1), name(i)).catch(ignoreMissing)
    } finally {
      await handle.close()
      await rm(lock, { force: true })
    }
  }
}

async function sizeOf(file: string): Promise<number> {
  return await stat(file).then(({ size }) => size, zeroIfMissing)
}

async function takeLock(lock: string): Promise<FileHandle | undefined> {
  const handle = await open(lock, "wx").catch(undefinedIfThere)
  if (handle !== undefined) return handle
  const age = await stat(lock).then(({ mtimeMs }) => Date.now() - mtimeMs, zeroIfMissing)
  if (age > STALE_LOCK_MS) await rm(lock, { force: true })
  return undefined
}

function zeroIfMissing(error: NodeJS.ErrnoException): number {
  if (error.code === "ENOENT") return 0
  throw error
}

function ignoreMissing(error: NodeJS.ErrnoException): void {
  if (error.code !== "ENOENT") throw error
}

function undefinedIfThere(error: NodeJS.ErrnoException): undefined {
  if (error.code !== "EEXIST") throw error
}
