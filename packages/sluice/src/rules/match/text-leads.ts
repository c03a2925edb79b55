import { type TextEntry, TextTable } from "./text-table.js"

/** Where the nodes of an index lead to by a text, all nodes in one table. */
export class TextLeads {
  readonly #hashOf: (text: string) => number
  #entries: TextEntry[] = []
  #nodes = 0
  #table: TextTable

  /** `hashOf` is the hash by which texts will be looked for. */
  constructor(hashOf: (text: string) => number) {
    this.#hashOf = hashOf
    this.#table = new TextTable([], hashOf)
  }

  /** Adds a node, and tells its number. */
  add(leads: ReadonlyMap<string, number>): number {
    for (const [text, number] of leads) this.#entries.push({ node: this.#nodes, text, number })
    return this.#nodes++
  }

  /** When all nodes are there. */
  seal(): void {
    this.#table = new TextTable(this.#entries, this.#hashOf)
    this.#entries = []
  }

  /** What is longer than `longest` leads nowhere. */
  get table(): TextTable {
    return this.#table
  }
}
