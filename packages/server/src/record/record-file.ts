// A file of lines that never grows beyond its bounds, on disk or in memory: when it is full it becomes `.1`, what was `.1`
// becomes `.2`, and the oldest goes. Several processes may write to one; each writes whole lines.

import { type FileHandle, open, rename, rm, stat } from "node:fs/promises"

export interface RecordFileOptions {
  readonly file: string
  /** Of one file. */
  readonly maxBytes: number
  /** Kept, the one being written included. */
  readonly files: number
  /** The first line of each. */
  readonly header: string
  /** Told of the first failure, and of the first after it has worked again. */
  readonly onError: (error: unknown) => void
}

const FLUSH_MS = 200
/** Held while the disk is slow; what comes on top is dropped. */
const MOST_HELD = 4_194_304
/** A process that died while it rotated leaves its lock behind. */
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

  /** Lines that were not written because the disk was too slow, or failed. */
  get dropped(): number {
    return this.#dropped
  }

  write(line: string): void {
    if (this.#held + line.length > MOST_HELD) {
      this.#dropped++
      return
    }
    this.#lines.push(line)
    this.#held += line.length + 1
    this.#timer ??= setTimeout(() => this.flush(), FLUSH_MS).unref()
  }

  /** Writes what is held. Never rejects: a full disk must not stop decisions. */
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

  /** Opened for each write: somebody else may have rotated it. */
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
    // Another process is at it.
    if (handle === undefined) return
    try {
      // Or has just been.
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
