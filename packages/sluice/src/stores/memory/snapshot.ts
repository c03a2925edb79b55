// Saves the counters to a file and loads them, so that a restart does not reset the limits.
//
// The file: a line with magic and version, a line of JSON that describes the tables, their states as doubles, and a SHA-256 of
// everything before it. Each state is its hash (two words), the number of its cells, and the cells. The file contains the secret
// hash key and therefore has mode 0600.

import { fileProblem, replaceFile, sweepDrafts } from "../../atomic-file.js"
import { SluiceError } from "../../errors.js"
import { checkType, isFilledText } from "../../options.js"
import type { SavedPolicy } from "../../policy.js"
import { restorePolicy, savePolicy } from "../../policy.js"
import type { HashKey } from "./key-hash.js"
import type { Tables } from "./tables.js"

const MAGIC = "sluice-snapshot 2\n"
const DIGEST_BYTES = 32
const STATE_HEADER = 3

interface SavedTable {
  readonly namespace: string
  readonly policy: SavedPolicy
  readonly keys: number
  readonly bytes: number
}

interface Header {
  readonly hashKey: HashKey
  readonly tables: readonly SavedTable[]
}

const sha256 = (bytes: Uint8Array) =>
  process.getBuiltinModule("node:crypto").createHash("sha256").update(bytes).digest()

/** Where a memory store saves its counters. */
export interface Snapshot {
  /** Fills the tables and returns their hash key. Undefined if nothing is saved. */
  read(tables: Tables, now: number): HashKey | undefined
  write(tables: Tables, hashKey: HashKey, now: number): void
}

/** Saves the counters in a file: `memoryStore({ snapshot: fileSnapshot("/var/lib/app/limits") })`. */
export function fileSnapshot(path: string): Snapshot {
  checkType(path ?? "", "fileSnapshot", "a file path", isFilledText)
  return {
    read: (tables, now) => readSnapshot(path, tables, now),
    write: (tables, hashKey, now) => writeSnapshot(path, tables, hashKey, now),
  }
}

function writeSnapshot(path: string, tables: Tables, hashKey: HashKey, now: number): void {
  const saved: SavedTable[] = []
  const parts: Uint8Array[] = []
  for (const [namespace, table] of tables.entries()) {
    let keys = 0
    let bytes = 0
    table.forEach(now, (low, high, state) => {
      const part = new Float64Array(STATE_HEADER + state.length)
      part.set([low, high, state.length])
      part.set(state, STATE_HEADER)
      parts.push(new Uint8Array(part.buffer))
      bytes += part.byteLength
      keys++
    })
    saved.push({ namespace, policy: savePolicy(table.policy), keys, bytes })
  }
  const header: Header = { hashKey, tables: saved }
  const body = Buffer.concat([Buffer.from(`${MAGIC}${JSON.stringify(header)}\n`), ...parts])
  try {
    replaceFile(path, Buffer.concat([body, sha256(body)]))
  } catch (cause) {
    const expected = `could not be written: ${fileProblem(cause)}`
    throw new SluiceError("SNAPSHOT_IO", { place: path, expected, cause })
  }
}

function readSnapshot(path: string, tables: Tables, now: number): HashKey | undefined {
  sweepDrafts(path)
  const content = readIfThere(path)
  if (content === undefined) return undefined
  try {
    const { header, states } = open(path, content)
    restore(tables, header, states, now)
    return header.hashKey
  } catch (cause) {
    if (cause instanceof SluiceError) throw cause
    throw new SluiceError("SNAPSHOT_INVALID", { place: path, expected: "was not saved by a store", cause })
  }
}

function restore(tables: Tables, header: Header, states: Float64Array, now: number): void {
  let at = 0
  for (const saved of header.tables) {
    const table = tables.named(saved.namespace, restorePolicy(saved.policy))
    for (let key = 0; key < saved.keys; key++) {
      const cells = states[at + 2] as number
      const state = states.subarray(at + STATE_HEADER, at + STATE_HEADER + cells)
      // If the store is smaller than before, keys in heavy use stay.
      if (tables.keys < tables.maxKeys || tables.makeRoom(1, now)) {
        table.restore(states[at] as number, states[at + 1] as number, state, tables.maxKeys)
      }
      at += STATE_HEADER + cells
    }
  }
}

function readIfThere(path: string): Buffer | undefined {
  const { existsSync, readFileSync } = process.getBuiltinModule("node:fs")
  try {
    return existsSync(path) ? readFileSync(path) : undefined
  } catch (cause) {
    const expected = `could not be read: ${fileProblem(cause)}`
    throw new SluiceError("SNAPSHOT_IO", { place: path, expected, cause })
  }
}

/** Checks the whole file before any of it is used. */
function open(path: string, content: Buffer): { header: Header; states: Float64Array } {
  const bad = (expected: string) => new SluiceError("SNAPSHOT_INVALID", { place: path, expected })
  if (content.toString("latin1", 0, MAGIC.length) !== MAGIC) throw bad("is not a snapshot of this version")
  const body = content.subarray(0, -DIGEST_BYTES)
  if (!sha256(body).equals(content.subarray(-DIGEST_BYTES)))
    throw bad("is damaged: its checksum does not match")
  const end = body.indexOf(10, MAGIC.length)
  const header = JSON.parse(body.toString("utf8", MAGIC.length, end)) as Header
  if (header.hashKey.length !== 4) throw bad("has no hash key")
  // A copy, because the states do not start at a multiple of eight bytes.
  return { header, states: new Float64Array(new Uint8Array(body.subarray(end + 1)).buffer) }
}
