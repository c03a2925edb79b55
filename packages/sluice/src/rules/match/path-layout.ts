// A tree of path patterns in one array, a node beside the first below it, and one table for the literals of all nodes.

import type { Steps } from "../language/steps.js"
import { type GlobEntry, GlobTable } from "./glob-table.js"
import type { PathNode } from "./path-tree.js"
import { hashFromStart } from "./text-hash.js"
import { NONE, type TextEntry, TextTable } from "./text-table.js"

/** Which word of a node is what. A word that is `NONE` is not there. A node has eight words, half a line of the cache. */
export const NODE = {
  /** What is stored under the pattern that ends here, and under the one that ends here with `**`. */
  value: 0,
  valueBelow: 1,
  /** The node behind any one segment. */
  param: 2,
  /** How many literals there are below, if any: those of all nodes are in one table. */
  literals: 3,
  /** The place of what few nodes have. */
  branches: 4,
} as const

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
  /** The node below each node behind a literal. */
  readonly literals: TextTable

  private constructor(draft: Draft) {
    this.words = new Int32Array(draft.words)
    this.branches = draft.branches
    this.literals = new TextTable(draft.literals, hashFromStart)
  }

  static *build(root: PathNode): Steps<PathLayout> {
    const draft = new Draft()
    yield* draft.lay(root)
    yield
    return new PathLayout(draft)
  }
}

class Draft {
  readonly words: number[] = []
  readonly branches: Branches[] = []
  readonly literals: TextEntry[] = [];

  /** Lays out a node and all below it, and tells its place. */
  *lay(node: PathNode): Steps<number> {
    yield
    const { value = NONE, valueBelow = NONE } = node
    const at = this.words.length
    this.words.push(value, valueBelow, NONE, NONE, NONE, NONE, NONE, NONE)
    for (const [text, below] of node.literals ?? []) {
      this.literals.push({ node: at, text, number: yield* this.lay(below) })
    }
    this.words[at + NODE.literals] = node.literals?.size ?? NONE
    if (node.param !== undefined) this.words[at + NODE.param] = yield* this.lay(node.param)
    if (node.globs !== undefined || node.deep !== undefined)
      this.words[at + NODE.branches] = yield* this.#branch(node)
    return at
  }

  *#branch({ globs, deep }: PathNode): Steps<number> {
    const entries: GlobEntry[] = []
    for (const { glob, node } of globs?.values() ?? []) entries.push({ glob, value: yield* this.lay(node) })
    const branches = {
      globs: entries.length === 0 ? undefined : new GlobTable(entries),
      deep: deep === undefined ? NONE : yield* this.lay(deep),
      isReached: false,
    }
    return this.branches.push(branches) - 1
  }
}
