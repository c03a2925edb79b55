// The blocked keys of a memory store, for people to read. Loaded with the first block: most programs block nobody.

import {
  type BlockedKey,
  type BlockedKeys,
  type Charge,
  MAX_LISTED,
  MAX_LISTED_KEY,
  type Usage,
} from "../store.js"

interface Entry {
  readonly charge: Charge
  readonly until: number
}

export class BlockList {
  readonly #entries = new Map<string, Entry>()
  /** The latest end of a block that was left out because the list was full, or its key too long. */
  #leftOutUntil = 0

  /** Adds the block of a charge, in place of an earlier one of the same key. */
  add(charge: Charge, until: number): void {
    if (charge.key.length > MAX_LISTED_KEY) {
      this.#leaveOut(until)
      return
    }
    this.#entries.set(`${charge.namespace.name}\n${charge.key}`, { charge: { ...charge, cost: 0 }, until })
    if (this.#entries.size > MAX_LISTED) this.#shorten()
  }

  /** `usage` reads the states of blocks: it knows those that were ended early. */
  async blocked(
    prefix: string,
    max: number,
    now: number,
    usage: (charges: readonly Charge[]) => Promise<readonly Usage[]>,
  ): Promise<BlockedKeys> {
    const entries = [...this.#entries].filter(([name]) => name.startsWith(`${prefix}:`)).sort(latestFirst)
    const usages = await usage(entries.map(([, { charge }]) => charge))
    const keys: BlockedKey[] = []
    entries.forEach(([name, { charge }], i) => {
      const { since, until, blocks = 0 } = usages[i]?.block ?? {}
      if (since === undefined || until === undefined) this.#entries.delete(name)
      else keys.push({ namespace: charge.namespace.name, key: charge.key, since, until, blocks })
    })
    return { keys: keys.slice(0, max), isComplete: keys.length <= max && this.#leftOutUntil <= now }
  }

  /** Removes the tenth that ends first, so that a full list is not sorted for every block. */
  #shorten(): void {
    const entries = [...this.#entries].sort(latestFirst)
    for (const [name, { until }] of entries.slice(Math.floor(MAX_LISTED * 0.9))) {
      this.#entries.delete(name)
      this.#leaveOut(until)
    }
  }

  #leaveOut(until: number): void {
    this.#leftOutUntil = Math.max(this.#leftOutUntil, until)
  }
}

function latestFirst(a: readonly [string, Entry], b: readonly [string, Entry]): number {
  return b[1].until - a[1].until
}
