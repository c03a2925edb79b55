// The revisions of a rule file, in a file beside it: one line of JSON each, oldest first.
//
// A save writes its line first, marked as pending, then replaces the rule file, then adds a line that says so. Killed in
// between, the rule file tells at the next start whether the save has happened. What a crash left behind in the journal
// itself, half a line at most, is skipped and cleaned away.

import { closeSync, existsSync, fsyncSync, openSync, readFileSync, statSync, writeSync } from "node:fs"
import { replaceFile, sweepDrafts } from "../../atomic-file.js"
import type { RuleSetRevision } from "./source.js"

type Line = (RuleSetRevision & { readonly pending?: true }) | { readonly done: number }

/** However large the sets are: all of them are read at once. The newest two are always kept. */
const MOST_BYTES = 64 * 1024 * 1024
const ALWAYS_KEPT = 2

export class Journal {
  readonly #file: string
  readonly #most: number
  /** Oldest first. */
  #revisions: RuleSetRevision[] = []
  #pending: RuleSetRevision | undefined
  #lines = 0
  /** Something in the file that no journal has: half a line, or a save that never happened. */
  #untidy = false
  /** The file as this process has last read or written it. */
  #known = ""

  constructor(file: string, most: number) {
    this.#file = file
    this.#most = most
  }

  /** Oldest first. */
  get revisions(): readonly RuleSetRevision[] {
    return this.#revisions
  }

  /** Reads what another process may have written. */
  refresh(): void {
    if (this.#known !== "" && this.#known === this.#stamp()) return
    const text = existsSync(this.#file) ? readFileSync(this.#file, "utf8") : ""
    this.#revisions = []
    this.#pending = undefined
    this.#untidy = false
    const lines = text.split("\n")
    // Each line ends with a line feed, so what is after the last one is empty or half written.
    if (lines.pop() !== "") this.#untidy = true
    this.#lines = lines.length
    for (const line of lines) this.#read(line)
    this.#known = this.#stamp()
  }

  /** Removes what a process left when it was killed. Only under the lock. */
  sweep(): void {
    sweepDrafts(this.#file, { isLocked: true })
  }

  /** Settles what a crash has left open: a save has happened if the rule file has its content. */
  settle(etag: string): void {
    const pending = this.#pending
    this.#pending = undefined
    if (pending !== undefined) this.#untidy = true
    if (pending?.etag === etag) this.keep(pending)
  }

  /** Writes the journal anew when it has grown too long, or has something in it that does not belong there. */
  tidy(): void {
    if (this.#untidy || this.#lines > 3 * this.#most) this.#rewrite()
  }

  /** Writes down a revision that is in force already. */
  add(revision: RuleSetRevision): void {
    this.#append(revision)
    this.keep(revision)
  }

  /** Remembers a revision for as long as the process lives. */
  keep(revision: RuleSetRevision): void {
    this.#revisions.push(Object.freeze(revision))
    if (this.#revisions.length > this.#most) this.#revisions.shift()
  }

  /** Writes down a revision, puts it in force, and writes down that this was done. */
  addWith(revision: RuleSetRevision, putInForce: () => void): void {
    this.#append({ ...revision, pending: true })
    putInForce()
    this.#append({ done: revision.revision })
    this.keep(revision)
  }

  #read(text: string): void {
    const line = parseLine(text)
    if (line === undefined) this.#untidy = true
    else if ("done" in line) {
      if (this.#pending?.revision === line.done) this.keep(this.#pending)
      this.#pending = undefined
    } else {
      const { pending, ...revision } = line
      if (pending) this.#pending = revision
      else this.keep(revision)
    }
  }

  #append(line: Line): void {
    const handle = openSync(this.#file, "a", 0o600)
    try {
      const bytes = Buffer.from(`${JSON.stringify(line)}\n`)
      for (let at = 0; at < bytes.length; ) at += writeSync(handle, bytes, at)
      fsyncSync(handle)
    } finally {
      closeSync(handle)
    }
    this.#lines++
    this.#known = this.#stamp()
  }

  #rewrite(): void {
    const lines: string[] = []
    let bytes = 0
    for (const revision of this.#revisions.toReversed()) {
      const line = `${JSON.stringify(revision)}\n`
      bytes += line.length
      if (bytes > MOST_BYTES && lines.length >= ALWAYS_KEPT) break
      lines.unshift(line)
    }
    replaceFile(this.#file, lines.join(""))
    this.#revisions = this.#revisions.slice(-lines.length)
    this.#lines = lines.length
    this.#untidy = false
    this.#known = this.#stamp()
  }

  #stamp(): string {
    const stats = statSync(this.#file, { bigint: true, throwIfNoEntry: false })
    return stats === undefined ? "none" : `${stats.ino} ${stats.size} ${stats.mtimeNs}`
  }
}

function parseLine(text: string): Line | undefined {
  try {
    const line = JSON.parse(text) as Line
    return "done" in line || Number.isInteger(line.revision) ? line : undefined
  } catch {
    return undefined
  }
}
