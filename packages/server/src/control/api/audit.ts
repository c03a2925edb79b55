// The audit log: who changed what, and when. Each change is a line of JSON that is on disk before the change is acknowledged. The
// log names what was changed but not the values; the revisions of the rules hold those. Neither holds secrets.

import { constants } from "node:fs"
import { type FileHandle, open } from "node:fs/promises"
import { dirname } from "node:path"
import { SluiceError } from "sluice"
import type { RuleSetChanges } from "sluice/rules"

export interface AuditEntry {
  /** The time, in RFC 3339 form. */
  readonly at: string
  readonly by: string
  readonly role: string
  /** The address of the client. */
  readonly from: string
  /** `PUT /rules/:id` */
  readonly action: string
  /** The rule, key, list or revision that was changed. */
  readonly target?: string
  /** The revision of the rules that the change made. */
  readonly revision?: number
  readonly changes?: RuleSetChanges
  readonly comment?: string
  /** It is unknown whether the change is in force, because the store did not answer. The revisions show it later. */
  readonly outcome?: "unknown"
}

/** How many entries are kept in memory if there is no file. */
const MAX_HELD = 1_000
/** How many bytes at the end of the file are read. */
const TAIL_BYTES = 1_048_576

export class AuditLog {
  readonly #file: string | undefined
  /** Oldest first. Only used without a file. */
  readonly #held: AuditEntry[] = []
  #last: Promise<unknown> = Promise.resolve()

  constructor(file?: string) {
    this.#file = file
  }

  /** Writes an entry. Resolves once it is on disk. Entries are written one after the other, so lines never mix. */
  append(entry: AuditEntry): Promise<void> {
    const turn = this.#last.then(() => this.#append(entry))
    this.#last = turn.catch(() => {})
    return turn
  }

  /** Returns entries, newest first. */
  async newest(limit: number): Promise<readonly unknown[]> {
    if (this.#file === undefined) return this.#held.slice(-limit).reverse()
    try {
      return (await tailOf(this.#file)).slice(-limit).reverse()
    } catch (cause) {
      if ((cause as NodeJS.ErrnoException).code === "ENOENT") return []
      throw new SluiceError("AUDIT_IO", { place: this.#file, expected: "could not be read", cause })
    }
  }

  async #append(entry: AuditEntry): Promise<void> {
    if (this.#file === undefined) {
      this.#held.push(entry)
      if (this.#held.length > MAX_HELD) this.#held.shift()
      return
    }
    try {
      await appendLine(this.#file, JSON.stringify(entry))
    } catch (cause) {
      throw new SluiceError("AUDIT_IO", {
        place: this.#file,
        expected: "could not be written; the change is in force nevertheless",
        cause,
      })
    }
  }
}

/** Opens the file for each line. Changes are rare, and the file may be rotated at any time. */
async function appendLine(file: string, line: string): Promise<void> {
  const { O_APPEND, O_CREAT, O_RDWR } = constants
  const handle = await open(file, O_APPEND | O_CREAT | O_RDWR, 0o600)
  try {
    const { size } = await handle.stat()
    // A line that a crash has cut off stays a line of its own.
    const isTorn = size > 0 && (await bytesAt(handle, size - 1, 1)).toString() !== "\n"
    await handle.appendFile(`${isTorn ? "\n" : ""}${line}\n`)
    await handle.sync()
    if (size === 0) await syncFolder(dirname(file))
  } finally {
    await handle.close()
  }
}

/** A new file is only safe once its folder is on disk. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, "r")
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

async function tailOf(file: string): Promise<unknown[]> {
  const handle = await open(file, "r")
  try {
    const { size } = await handle.stat()
    const start = Math.max(0, size - TAIL_BYTES)
    const lines = (await bytesAt(handle, start, size - start)).toString("utf8").split("\n")
    // The first line may have begun before the part that was read.
    if (start > 0) lines.shift()
    return lines.flatMap(entryOf)
  } finally {
    await handle.close()
  }
}

async function bytesAt(handle: FileHandle, position: number, length: number): Promise<Buffer> {
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(length), 0, length, position)
  return buffer.subarray(0, bytesRead)
}

/** Undefined for a line that is no entry, such as one that a crash has cut off. */
function entryOf(line: string): unknown[] {
  try {
    return [JSON.parse(line)]
  } catch {
    return []
  }
}
