// The history of a rule file: its revisions, one line of JSON each, oldest first, in two files beside it.
//
// Both files are only ever appended to. Once the current file is full it is renamed over the older one, and the next line
// starts a new current file. So a save writes two lines, however long the history is.
//
// A save appends its revision, marked as pending, then replaces the rule file, then appends a line that says `done`. If the
// process is killed in between, the rule file tells at the next start whether the save took place. If it is killed while it
// appends, the journal ends with an incomplete line, which every reader skips.

import {
  closeSync,
  fstatSync,
  fsyncSync,
  openSync,
  readSync,
  renameSync,
  statSync,
  writeFileSync,
} from "node:fs"
import { syncFolder } from "../../atomic-file.js"
import type { RuleSetRevision } from "./source.js"

type Line =
  | (RuleSetRevision & { readonly pending?: true })
  | { readonly done: number }
  | { readonly undone: number }

/** The current file is full at half of this, so that both files together stay within about 64 MiB. */
const MAX_BYTES = 64 * 1024 * 1024
/** The current file is not full by its size before it has this many revisions: the newest two are always kept. */
const MIN_REVISIONS = 2
/** A file starts with the number of its first revision, so that this much of it tells two files apart. */
const HEAD_BYTES = 64

/** How far this process has read the current file. */
interface Position {
  /** The inode and the first bytes of the file. Empty when no file is known. */
  readonly id: string
  /** The length of the whole lines that were read. */
  readonly bytes: number
}

const START: Position = { id: "", bytes: 0 }

export class Journal {
  readonly #file: string
  readonly #olderFile: string
  readonly #maxRevisions: number
  /** What the older file holds, oldest first, as far as it is among the newest `#maxRevisions`. */
  #older: RuleSetRevision[] = []
  /** What the current file holds, oldest first. */
  #current: RuleSetRevision[] = []
  /** A save of which it is not known whether it took place. */
  #pending: RuleSetRevision | undefined
  #position = START
  /** True when the current file ends with an incomplete line. */
  #isTorn = false

  constructor(file: string, maxRevisions: number) {
    this.#file = file
    this.#olderFile = `${file}.1`
    this.#maxRevisions = maxRevisions
  }

  /** Oldest first, at most `maxRevisions`. */
  get revisions(): readonly RuleSetRevision[] {
    return [...this.#older, ...this.#current]
  }

  get newest(): RuleSetRevision | undefined {
    return this.#current.at(-1) ?? this.#older.at(-1)
  }

  /** Reads what other processes have appended since. Only under the lock. */
  refresh(): void {
    const added = readSince(this.#file, this.#position)
    if (added !== undefined) {
      this.#take(added)
      return
    }
    // Another process has rotated the files; or they are new to this process, or somebody has replaced them.
    const rotated = readSince(this.#olderFile, this.#position)
    const older = rotated ?? readFrom(this.#olderFile, 0)
    const current = readFrom(this.#file, 0)
    if (rotated === undefined) this.#forget()
    if (older !== undefined) this.#take(older)
    this.#startFile()
    if (current !== undefined) this.#take(current)
  }

  /** Decides about a save that a crash has interrupted: it took place if the rule file has its content. Only under the lock. */
  resolvePending(etag: string): void {
    const pending = this.#pending
    if (pending === undefined) return
    const line = pending.etag === etag ? { done: pending.revision } : { undone: pending.revision }
    // First in memory: where the folder cannot be written, the revision still has its number.
    this.#apply(line)
    this.#write(line)
  }

  /** Writes down a revision that is in force already. Only under the lock. */
  add(revision: RuleSetRevision): void {
    this.#rotateIfFull()
    this.#append(revision)
  }

  /** Writes down a revision, puts it in force, and writes down that it is in force. Only under the lock. */
  addWith(revision: RuleSetRevision, putInForce: () => void): void {
    this.#rotateIfFull()
    this.#append({ ...revision, pending: true })
    putInForce()
    this.#append({ done: revision.revision })
  }

  /** Remembers a revision for as long as the process lives. */
  keep(revision: RuleSetRevision): void {
    this.#current.push(Object.freeze(revision))
    if (this.#older.length + this.#current.length <= this.#maxRevisions) return
    if (this.#older.length > 0) this.#older.shift()
    else this.#current.shift()
  }

  #rotateIfFull(): void {
    const { length } = this.#current
    const isLarge = this.#position.bytes >= MAX_BYTES / 2 && length >= MIN_REVISIONS
    if (length < this.#maxRevisions && !isLarge) return
    // Not there when somebody has removed it.
    if (this.#position.id === "") return
    renameSync(this.#file, this.#olderFile)
    syncFolder(this.#file)
    this.#startFile()
  }

  #forget(): void {
    this.#older = []
    this.#current = []
    this.#pending = undefined
    this.#position = START
  }

  /** What was the current file is now the older one, and the current one is empty. */
  #startFile(): void {
    this.#older = this.#current
    this.#current = []
    this.#position = START
    this.#isTorn = false
  }

  #take({ id, bytes }: Tail): void {
    const end = bytes.lastIndexOf("\n") + 1
    this.#position = { id, bytes: this.#position.bytes + end }
    this.#isTorn = end < bytes.length
    if (end === 0) return
    for (const text of bytes.toString("utf8", 0, end - 1).split("\n")) {
      const line = parseLine(text)
      if (line !== undefined) this.#apply(line)
    }
  }

  /** A line ends what was pending: only `done` says that it took place. */
  #apply(line: Line): void {
    const pending = this.#pending
    this.#pending = undefined
    if ("done" in line) {
      if (pending?.revision === line.done) this.keep(pending)
    } else if ("revision" in line) {
      const { pending: isPending, ...revision } = line
      if (isPending) this.#pending = revision
      else this.keep(revision)
    }
  }

  #append(line: Line): void {
    this.#write(line)
    this.#apply(line)
  }

  #write(line: Line): void {
    const isNew = this.#position.id === ""
    const handle = openSync(this.#file, "a+", 0o600)
    try {
      writeFileSync(handle, `${this.#isTorn ? "\n" : ""}${JSON.stringify(line)}\n`)
      fsyncSync(handle)
      this.#position = { id: idOf(handle), bytes: fstatSync(handle).size }
      this.#isTorn = false
    } finally {
      closeSync(handle)
    }
    if (isNew) syncFolder(this.#file)
  }
}

/** The rest of a file from some position on. */
interface Tail {
  readonly id: string
  readonly bytes: Buffer
}

/** Undefined when the file is not the one that the position is in, or has become shorter. */
function readSince(path: string, position: Position): Tail | undefined {
  if (position.id === "") return undefined
  const tail = readFrom(path, position.bytes)
  return tail?.id.startsWith(position.id) ? tail : undefined
}

/** Undefined when there is no file, or when it is shorter. */
function readFrom(path: string, start: number): Tail | undefined {
  if (statSync(path, { throwIfNoEntry: false }) === undefined) return undefined
  const handle = openSync(path, "r")
  try {
    const length = fstatSync(handle).size - start
    if (length < 0) return undefined
    const bytes = Buffer.alloc(length)
    return { id: idOf(handle), bytes: bytes.subarray(0, readAt(handle, bytes, start)) }
  } finally {
    closeSync(handle)
  }
}

function idOf(handle: number): string {
  const head = Buffer.alloc(HEAD_BYTES)
  const length = readAt(handle, head, 0)
  return `${fstatSync(handle, { bigint: true }).ino} ${head.toString("latin1", 0, length)}`
}

/** Fills a buffer from a position in a file, as far as the file goes. */
function readAt(handle: number, buffer: Buffer, position: number): number {
  let filled = 0
  while (filled < buffer.length) {
    const read = readSync(handle, buffer, filled, buffer.length - filled, position + filled)
    if (read === 0) break
    filled += read
  }
  return filled
}

function parseLine(text: string): Line | undefined {
  try {
    const line = JSON.parse(text) as Line
    return "done" in line || "undone" in line || Number.isInteger(line.revision) ? line : undefined
  } catch {
    return undefined
  }
}
