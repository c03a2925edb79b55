// All counters of a memory store: one table per namespace, and one bound on the number of keys.

import type { Policy } from "../../algorithms/algorithm.js"
import type { Namespace } from "../store.js"
import { Table } from "./table.js"

/** Slots that are examined for a key to evict before a new key is refused: at most about 0.1 ms. */
const SEARCH = 8_192
/** The same, after a whole round has found nothing. */
const SEARCH_WHEN_SATURATED = 64
/** A table evicts one key per this many slots before it is the next table's turn. */
const SLOTS_PER_EVICTION = 64
/** Slots examined per call of `tidy`: about 1 ms. */
const TIDY = 65_536

/** The owner of a table that was removed. It differs from every store, so a namespace's handle to the table is ignored. */
const NO_OWNER = { keys: 0, blocks: 0, slots: 0 }

export class Tables {
  readonly maxKeys: number
  /** The number of keys, of blocks among them, and of slots. The tables keep them up to date. */
  keys = 0
  blocks = 0
  slots = 0
  /** Keys evicted to make room for new ones. */
  evicted = 0
  readonly #byNamespace = new Map<string, Table>()
  /** The same tables as a list, for eviction and tidying. */
  #list: Table[] = []
  /** The position in the list. */
  #position = 0
  /** Keys that the table at this position has evicted since its turn began. */
  #evictedHere = 0
  /** Slots examined since the last key was evicted. */
  #examined = 0

  constructor(maxKeys: number) {
    this.maxKeys = maxKeys
  }

  get bytes(): number {
    let bytes = 0
    for (const table of this.#list) bytes += table.bytes
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
    } else if (table.policy !== policy) table.setPolicy(policy)
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
      this.#list.push(table)
    }
    if (table.policy !== policy) table.setPolicy(policy)
    return table
  }

  /** Whether `wanted` more keys fit. Evicts keys if necessary. */
  makeRoom(wanted: number, now: number): boolean {
    let over = this.keys + wanted - this.maxKeys
    let search = this.#examined >= this.slots ? SEARCH_WHEN_SATURATED : SEARCH
    while (over > 0 && search > 0) {
      const table = this.#list[this.#position % this.#list.length] as Table
      const step = Math.min(search, table.slots)
      const looked = table.evict(step, now)
      search -= looked || step
      this.#examined = looked === 0 ? this.#examined + step : 0
      if (looked > 0) {
        over--
        this.evicted++
      }
      // Tables evict in proportion to their size.
      if (looked === 0 || ++this.#evictedHere * SLOTS_PER_EVICTION > table.slots) {
        this.#position++
        this.#evictedHere = 0
      }
    }
    return over <= 0
  }

  /** Removes expired keys and empty tables, and shrinks the others. Returns whether any key is left. */
  tidy(now: number): boolean {
    let budget = TIDY
    for (let i = this.#list.length; i > 0 && budget > 0; i--) {
      const table = this.#list[this.#position++ % this.#list.length] as Table
      const step = Math.min(budget, table.slots)
      table.sweep(step, now)
      table.shrink()
      budget -= step
    }
    for (const [name, table] of this.#byNamespace) {
      if (table.count > 0) continue
      this.slots -= table.slots
      table.owner = NO_OWNER
      this.#byNamespace.delete(name)
    }
    if (this.#list.length > this.#byNamespace.size) this.#list = [...this.#byNamespace.values()]
    return this.keys > 0
  }
}
