// All counters of a memory store: one table per namespace, held together by one bound on the number of keys.

import type { Policy } from "../../algorithms/algorithm.js"
import type { Namespace } from "../store.js"
import { Table } from "./table.js"

/** Slots looked at for a key that may go before a new key is refused: at most about 0.1 ms. */
const SEARCH = 8_192
/** The same, once a whole round has found nothing. */
const SEARCH_WHEN_SATURATED = 64
/** One in so many slots of a table gives a key before the next table's turn. */
const GIVEN_SHARE = 64
/** Slots looked at per round of tidying: about 1 ms. */
const TIDY = 65_536

/** The owner of a table that was dropped: no namespace's handle leads to it any more. */
const NOBODY = { keys: 0, blocks: 0, slots: 0 }

export class Tables {
  readonly maxKeys: number
  /** Keys held, those of them that are blocks, and slots there are: kept up to date by the tables. */
  keys = 0
  blocks = 0
  slots = 0
  /** Keys dropped to make room for new ones. */
  evicted = 0
  readonly #byNamespace = new Map<string, Table>()
  /** The same tables in a row, for the hand that looks for keys that may go. */
  #row: Table[] = []
  #hand = 0
  /** Keys the table at the hand has given in a row. */
  #given = 0
  /** Slots looked at since the last key that could go. */
  #fruitless = 0

  constructor(maxKeys: number) {
    this.maxKeys = maxKeys
  }

  get bytes(): number {
    let bytes = 0
    for (const table of this.#row) bytes += table.bytes
    return bytes
  }

  entries(): IterableIterator<[string, Table]> {
    return this.#byNamespace.entries()
  }

  open(namespace: Namespace, policy: Policy): Table {
    let table = namespace.handle as Table | undefined
    if (table?.owner !== this) {
      table = this.named(namespace.name, policy)
      namespace.handle = table
    } else if (table.policy !== policy) table.meet(policy)
    return table
  }

  keysIn(namespace: Namespace): number {
    const { handle } = namespace
    const table = handle?.owner === this ? (handle as Table) : this.#byNamespace.get(namespace.name)
    return table?.count ?? 0
  }

  named(name: string, policy: Policy): Table {
    let table = this.#byNamespace.get(name)
    if (table === undefined) {
      table = new Table(this, policy)
      this.#byNamespace.set(name, table)
      this.#row.push(table)
    }
    if (table.policy !== policy) table.meet(policy)
    return table
  }

  /** Whether `wanted` more keys fit, after dropping keys that may go if need be. */
  makeRoom(wanted: number, now: number): boolean {
    let over = this.keys + wanted - this.maxKeys
    let search = this.#fruitless >= this.slots ? SEARCH_WHEN_SATURATED : SEARCH
    while (over > 0 && search > 0) {
      const table = this.#row[this.#hand % this.#row.length] as Table
      const step = Math.min(search, table.slots)
      const looked = table.evict(step, now)
      search -= looked || step
      this.#fruitless = looked === 0 ? this.#fruitless + step : 0
      if (looked > 0) {
        over--
        this.evicted++
      }
      // Each table gives in proportion to its size.
      if (looked === 0 || ++this.#given * GIVEN_SHARE > table.slots) {
        this.#hand++
        this.#given = 0
      }
    }
    return over <= 0
  }

  /** Drops expired keys and empty tables, and gives memory back. Returns whether any key is left. */
  tidy(now: number): boolean {
    let budget = TIDY
    for (let i = this.#row.length; i > 0 && budget > 0; i--) {
      const table = this.#row[this.#hand++ % this.#row.length] as Table
      const step = Math.min(budget, table.slots)
      table.sweep(step, now)
      table.shrink()
      budget -= step
    }
    for (const [name, table] of this.#byNamespace) {
      if (table.count > 0) continue
      this.slots -= table.slots
      table.owner = NOBODY
      this.#byNamespace.delete(name)
    }
    if (this.#row.length > this.#byNamespace.size) this.#row = [...this.#byNamespace.values()]
    return this.keys > 0
  }
}
