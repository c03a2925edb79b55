// A tree of path patterns in one array, a node beside the first below it. Literals are numbers, so that a walk compares the
// text of a segment once, however many nodes it tries it at.

import { type GlobEntry, GlobTable } from "./glob-table.js"
import { PairTable } from "./pair-table.js"
import type { PathNode } from "./path-tree.js"
import { hashFromStart } from "./text-hash.js"
import { NONE, TextTable } from "./text-table.js"

/** Words of a node: half a line of the cache. */
const WORDS = 8

/** Which word is what. A word that is `NONE` is not there. */
export const NODE = {
  /** What is stored under the pattern that ends here, and under the one that ends here with `**`. */
  value: 0,
  valueBelow: 1,
  /** The node behind any one segment. */
  param: 2,
  /** The only literal below, or `SEVERAL`, and the node behind the only one. */
  literal: 3,
  next: 4,
  /** The place of what few nodes have. */
  branches: 5,
} as const

/** A node with several literals below it finds them in `ways`. */
export const SEVERAL = -2

export interface Branches {
  readonly globs: GlobTable | undefined
  /** The node behind a `**`. */
  readonly deep: number
  /** During a walk: the node behind `**` has been reached, at its first place. */
  isReached: boolean
}

export class PathLayout {
  /** The nodes. The root is at 0. */
  readonly words: Int32Array
  readonly branches: readonly Branches[]
  /** The number of each literal. */
  readonly literals: TextTable
  /** From a node by one of several literals to the next. */
  readonly ways: PairTable

  constructor(root: PathNode) {
    const draft = new Draft()
    draft.lay(root)
    this.words = Int32Array.from(draft.words)
    this.branches = draft.branches
    this.literals = new TextTable(draft.literals, hashFromStart)
    this.ways = new PairTable(draft.ways)
  }
}

class Draft {
  readonly words: number[] = []
  readonly branches: Branches[] = []
  readonly literals = new Map<string, number>()
  readonly ways: [node: number, literal: number, next: number][] = []

  /** Lays out a node and all below it, and tells its place. */
  lay(node: PathNode): number {
    const { value = NONE, valueBelow = NONE } = node
    const at = this.words.length
    this.words.push(...new Array<number>(WORDS).fill(NONE))
    this.words[at + NODE.value] = value
    this.words[at + NODE.valueBelow] = valueBelow
    for (const [text, below] of node.literals ?? []) {
      const literal = this.#numberOf(text)
      const next = this.lay(below)
      if (node.literals?.size === 1) this.words[at + NODE.next] = next
      else this.ways.push([at, literal, next])
      this.words[at + NODE.literal] = node.literals?.size === 1 ? literal : SEVERAL
    }
    if (node.param !== undefined) this.words[at + NODE.param] = this.lay(node.param)
    if (node.globs !== undefined || node.deep !== undefined)
      this.words[at + NODE.branches] = this.#branch(node)
    return at
  }

  #numberOf(text: string): number {
    const literal = this.literals.get(text) ?? this.literals.size
    this.literals.set(text, literal)
    return literal
  }

  #branch({ globs, deep }: PathNode): number {
    const entries: GlobEntry[] = []
    for (const { glob, node } of globs?.values() ?? []) entries.push({ glob, value: this.lay(node) })
    const branches = {
      globs: entries.length === 0 ? undefined : new GlobTable(entries),
      deep: deep === undefined ? NONE : this.lay(deep),
      isReached: false,
    }
    return this.branches.push(branches) - 1
  }
}
