// The leases of one instance, in rows of numbers: about 200 bytes for each key with its place in the maps, and no object that the
// garbage collector has to visit. A lease over several limits has a linked row for each; its first row is the head.
//
// Times are in microseconds. Those of the lease are of the monotonic clock of this process, CHARGED_AT is of the store's clock.

import type { Charge } from "../store.js"
import type { ChargeList } from "./charge-lists.js"

/** Units of the newest grant, when it ends, and when the store charged it. */
export const LEFT = 0
export const ENDS_AT = 1
export const CHARGED_AT = 2
/** What is left of the grant before it. It is spent first, because it ends first. */
export const OLD_LEFT = 3
export const OLD_ENDS_AT = 4
export const OLD_CHARGED_AT = 5
/** The last word of the store: units that it had left, and when the key is as if it had never been used. */
export const REMAINING = 6
export const RESETS_AT = 7
/** Until when a denial holds, the cost that it holds for, and when the store would allow it again. 0 for a charge it allowed. */
export const DENIED_UNTIL = 8
export const DENIED_COST = 9
export const RETRY_AT = 10
/** Units per length of a lease, smoothed; 0 for a cold key. Then the units and checks since a time. */
export const DEMAND = 11
export const UNITS = 12
export const CHECKS = 13
export const SINCE = 14
/** Before this time no lease is taken, because much of the last one was not spent. */
export const NO_LEASE_BEFORE = 15

export const COLUMNS = 16

const FIRST_ROWS = 64
/** Rows are added by a sixteenth, so that at most that much is unused. */
const GROWTH = 16

export class LeaseTable {
  /** The numbers of row r start at `r * COLUMNS`. */
  cells = new Float64Array(FIRST_ROWS * COLUMNS)
  /** How many lengths of a lease the last pause of each head was, after a lease that was not spent. */
  pauses = new Uint8Array(FIRST_ROWS)
  /** The row of the next limit of the same lease; -1 for the last. For a free row, the next free row. */
  #nexts = new Int32Array(FIRST_ROWS)
  /** The list of each head; undefined for other rows and free ones. */
  readonly lists: (ChargeList | undefined)[] = []
  readonly keys: string[] = []
  readonly #names = new Map<number, string>()
  readonly #maxRows: number
  #used = 0
  #free = -1
  #rows = 0

  constructor(maxRows: number) {
    this.#maxRows = maxRows
  }

  /** Rows in use. */
  get size(): number {
    return this.#used
  }

  /** Adds the rows of some charges, and returns the head. -1 if the table is full. */
  add(list: ChargeList, name: string, charges: readonly Charge[]): number {
    if (this.#used + charges.length > this.#maxRows) return -1
    let head = -1
    for (let i = charges.length - 1; i >= 0; i--) {
      const row = this.#take()
      const { key } = charges[i] as Charge
      this.#nexts[row] = head
      this.keys[row] = key
      head = row
    }
    this.lists[head] = list
    // Only the name of keys that differ must be kept.
    if (this.keys[head] !== name) this.#names.set(head, name)
    list.rows.set(name, head)
    return head
  }

  remove(head: number): void {
    const list = this.lists[head] as ChargeList
    list.rows.delete(this.#names.get(head) ?? (this.keys[head] as string))
    this.#names.delete(head)
    this.lists[head] = undefined
    for (let row = head; row >= 0; ) {
      const next = this.next(row)
      this.keys[row] = ""
      this.#nexts[row] = this.#free
      this.#free = row
      this.#used--
      row = next
    }
  }

  next(row: number): number {
    return this.#nexts[row] as number
  }

  /** The heads of all leases over a key. Looks at every row, for calls that are rare. */
  headsOf(key: string): number[] {
    const heads: number[] = []
    this.lists.forEach((list, head) => {
      if (list === undefined) return
      let row = head
      while (row >= 0 && this.keys[row] !== key) row = this.next(row)
      if (row >= 0) heads.push(head)
    })
    return heads
  }

  #take(): number {
    this.#used++
    const row = this.#free
    if (row >= 0) {
      this.#free = this.next(row)
      this.cells.fill(0, row * COLUMNS, (row + 1) * COLUMNS)
      this.pauses[row] = 0
      return row
    }
    if (this.#rows === this.#nexts.length) this.#grow()
    this.lists.push(undefined)
    this.keys.push("")
    return this.#rows++
  }

  #grow(): void {
    const rows = this.#rows + Math.ceil(this.#rows / GROWTH)
    const { cells, pauses } = this
    const nexts = this.#nexts
    this.cells = new Float64Array(rows * COLUMNS)
    this.pauses = new Uint8Array(rows)
    this.#nexts = new Int32Array(rows)
    this.cells.set(cells)
    this.pauses.set(pauses)
    this.#nexts.set(nexts)
  }
}
