import { NONE, TextTable } from "./text-table.js"

/** So many texts are found faster in Maps: all of them are in the cache, and the engine hashes faster than we can. */
const FEW = 64

/** Where the nodes of an index lead to by a text, all nodes together. */
export class TextLeads {
  readonly #hashOf: ((text: string) => number) | undefined
  /** By node. Empty when there is a table. */
  #few: ReadonlyMap<string, number>[] = []
  #table: TextTable | undefined = undefined

  /** `hashOf` is given where texts have been read before, and their hash is known. */
  constructor(hashOf?: (text: string) => number) {
    this.#hashOf = hashOf
  }

  /** Adds a node, and tells its number. */
  add(leads: ReadonlyMap<string, number>): number {
    return this.#few.push(leads) - 1
  }

  /** When all nodes are there. */
  seal(): void {
    const entries = this.#few.flatMap((leads, node) =>
      [...leads].map(([text, number]) => ({ node, text, number })),
    )
    if (entries.length <= FEW) return
    this.#table = new TextTable(entries, this.#hashOf)
    this.#few = []
  }

  find(node: number, text: string): number {
    const table = this.#table
    if (table === undefined) return this.#few[node]?.get(text) ?? NONE
    if (this.#hashOf === undefined) return table.findWhole(node, text)
    return table.find(node, this.#hashOf(text), text, 0, text.length)
  }
}
