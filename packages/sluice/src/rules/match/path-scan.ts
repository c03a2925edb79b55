// All that a lookup needs to know of a path, learnt in one walk along it: whether it is in the form in which paths are
// compared, where its segments are, and what their hashes are. Reading a character takes longer than hashing it.

import { asciiLowerCase, capturedSegments, joined } from "./path-form.js"
import { HASH_START, hashFurther } from "./text-hash.js"

const SLASH = 47
const SEMICOLON = 59
const PERCENT = 37
const UPPER_A = 65
const UPPER_Z = 90

export class PathScan {
  /** The path that was scanned last, in its compared form. Empty if there is none. */
  #path = ""
  /** How many segments it has. */
  count = 0
  /** Where each begins; it ends one before the next would. */
  starts = new Int32Array(64)
  /** Of each, from its start. */
  hashes = new Int32Array(64)
  /** Of the whole path: that of each segment added to those before. */
  hash = HASH_START

  /** Scans a canonical path, and gives its compared form: `/`, or `/` before each segment. */
  comparedFormOf(path: string): string {
    // Most are in that form already. Requests of Envoy's have no path.
    if (path !== "" && this.#scan(path, false)) return path
    const compared = asciiLowerCase(joined(capturedSegments(path)))
    this.#scan(compared, true)
    return compared
  }

  /** Scans a path that is in its compared form, unless it is the one that was scanned last. */
  see(compared: string): void {
    if (compared !== this.#path) this.#scan(compared, true)
  }

  /** False if the path turns out not to be in its compared form, unless it is known to be. */
  #scan(path: string, isCompared: boolean): boolean {
    this.#path = ""
    if (this.starts.length < path.length / 2 + 2) {
      this.starts = new Int32Array(path.length + 2)
      this.hashes = new Int32Array(path.length + 2)
    }
    const { starts, hashes } = this
    let count = 0
    let start = 1
    let hash = HASH_START
    let whole = HASH_START
    for (let i = 1; i < path.length; i++) {
      const code = path.charCodeAt(i)
      if (code === SLASH) {
        if (i === start) return false
        starts[count] = start
        hashes[count++] = hash
        whole = hashFurther(whole, hash)
        start = i + 1
        hash = HASH_START
      } else {
        if (!isCompared && (code === SEMICOLON || code === PERCENT || (code >= UPPER_A && code <= UPPER_Z)))
          return false
        hash = hashFurther(hash, code)
      }
    }
    if (path.length > 1) {
      if (start === path.length) return false
      starts[count] = start
      hashes[count++] = hash
      whole = hashFurther(whole, hash)
    }
    if (path.charCodeAt(0) !== SLASH) return false
    starts[count] = path.length + 1
    this.count = count
    this.hash = whole
    this.#path = path
    return true
  }
}

/** One for all: between a scan and its use nobody else is asked anything, and who finds another path here scans again. */
export const pathScan = new PathScan()

/** The segments of a path in its compared form. */
export function segmentsOf(compared: string): string[] {
  pathScan.see(compared)
  const { starts, count } = pathScan
  const segments: string[] = []
  for (let i = 0; i < count; i++) {
    segments.push(compared.slice(starts[i] as number, (starts[i + 1] as number) - 1))
  }
  return segments
}

/** The hash of a path in its compared form. */
export function hashOfPath(compared: string): number {
  pathScan.see(compared)
  return pathScan.hash
}
