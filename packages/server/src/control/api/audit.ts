// Who changed what, and when: a line of JSON for each change, on disk before the change is acknowledged. It says what was
// changed, never the values: those are in the revisions of the rules, and secrets are in neither.

import { constants } from "node:fs"
import { type FileHandle, open } from "node:fs/promises"
import { dirname } from "node:path"
import { SluiceError } from "sluice"
import type { RuleSetChanges } from "sluice/rules"

export interface AuditEntry {
  /** As in RFC 3339. */
  readonly at: string
  readonly by: string
  readonly role: string
  /** The address the change was asked for from. */
  readonly from: string
  /** `PUT /rules/:id` */
  readonly action: string
  /** Which rule, key, list or revision. */
  readonly target?: string
  /** The revision of the rules that it made. */
  readonly revision?: number
  readonly changes?: RuleSetChanges
  readonly comment?: string
  /** Nobody knows whether it is in force: the store did not answer. The revisions tell, once it does. */
  readonly outcome?: "unknown"
}

/** How many entries are kept at hand where there is no file. */
const MOST_HELD = 1_000
/** How much of the end of a file is looked at. */
const TAIL_BYTES = 1_048_576

export class AuditLog {
  readonly #file: string | undefined
  /** Oldest first; only where there is no file. */
  readonly #held: AuditEntry[] = []
  #last: Promise<unknown> = Promise.resolve()

  constructor(file?: string) {
    this.#file = file
  }

  /** Resolves once the entry is on disk. One after the other, so that lines never mix. */
  append(entry: AuditEntry): Promise<void> {
    const turn = this.#last.then(() => this.#append(entry))
    this.#last = turn.catch(() => {})
    return turn
  }

  /** The newest first. */
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
      if (this.#held.length > MOST_HELD) this.#held.shift()
      return
    }
    try {
      await appendLine(this.#file, JSON.stringify(entry))
    } catch (cause) {
      throw new SluiceError("AUDIT_IO", {
        place: this.#file,
        expected: "could not be written; the change is in force all the same",
        cause,
      })
    }
  }
}

/** Opened for each line: changes are rare, and whoever rotates the file need not tell us. */
async function appendLine(file: string, line: string): Promise<void> {
  const { O_APPEND, O_CREAT, O_RDWR } = constants
  const handle = await open(file, O_APPEND | O_CREAT | O_RDWR, 0o600)
  try {
    const { size } = await handle.stat()
    // What a crash has cut off stays a line of its own, and does not take the next with it.
    const isTorn = size > 0 && (await bytesAt(handle, size - 1, 1)).toString() !== "\n"
    await handle.appendFile(`${isTorn ? "\n" : ""}${line}\n`)
    await handle.sync()
    if (size === 0) await syncFolder(dirname(file))
  } finally {
    await handle.close()
  }
}

/** A new file is only there for good once its folder is on disk. */
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
    // The first may have begun before what was read.
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

/** None for a line that is no entry, such as one that a crash has cut off. */
function entryOf(line: string): unknown[] {
  try {
    return [JSON.parse(line)]
  } catch {
    return []
  }
}
