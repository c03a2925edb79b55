// All path patterns of many rules, looked up at once. Plain paths are looked up whole. The others are a tree of segments.
// A node of the tree has one way to it, so that a walk comes to it at one place of the path only; behind a `**` it may
// come at every place, each once. Nothing is tried twice at the same place, and the cost is at most the segments of the
// path times the nodes behind `**` that were reached.
//
// With thousands of patterns nearly all time is spent waiting for memory, so what is read on the way to a value is kept
// little: a node with a single literal below it has no Map, a `**` at the end has no node, and literals that are the same
// are one string.

import { GlobTable } from "./glob-table.js"
import { joined } from "./path-form.js"
import type { PathPattern, PathSegment } from "./path-pattern.js"

/** What most nodes have. */
class TrieNode<T> {
  /** The only literal below, or the first of several. */
  literal: string | undefined = undefined
  next: TrieNode<T> | undefined = undefined
  /** Behind any one segment. */
  param: TrieNode<T> | undefined = undefined
  /** What is stored under the pattern that ends here, and under the one that ends here with `**`. */
  value: T | undefined = undefined
  valueBelow: T | undefined = undefined
  more: Branches<T> | undefined = undefined
}

/** What few nodes have. */
class Branches<T> {
  /** All literals, when there are several. */
  literals: Map<string, TrieNode<T>> | undefined = undefined
  globs: GlobTable<TrieNode<T>> | undefined = undefined
  /** Behind a `**`. */
  deep: TrieNode<T> | undefined = undefined
  /** During a walk: the node behind `**` has been reached, at its first place. */
  isReached = false
}

export class PathTrie<T> {
  readonly #plain = new Map<string, T>()
  readonly #literals = new Map<string, string>()
  #root: TrieNode<T> | undefined = undefined

  /** No two patterns of the same form. */
  constructor(entries: Iterable<readonly [PathPattern, T]>) {
    for (const [{ runs }, value] of entries) {
      const plain = plainPath(runs)
      if (plain !== undefined) this.#plain.set(plain, value)
      else this.#add(runs, value)
    }
  }

  #add(runs: readonly (readonly PathSegment[])[], value: T): void {
    this.#root ??= new TrieNode()
    let node = this.#root
    for (const [i, run] of runs.entries()) {
      // A node behind another `**` may be reached more than once, and would tell its value each time.
      if (i === 1 && runs.length === 2 && run.length === 0) {
        node.valueBelow = value
        return
      }
      if (i > 0) {
        const branches = branchesOf(node)
        branches.deep ??= new TrieNode()
        node = branches.deep
      }
      for (const segment of run) node = this.#childFor(node, segment)
    }
    node.value = value
  }

  #childFor(node: TrieNode<T>, segment: PathSegment): TrieNode<T> {
    if (segment.kind === "literal") return literalChild(node, this.#shared(segment.text))
    if (segment.kind === "param") {
      node.param ??= new TrieNode()
      return node.param
    }
    const branches = branchesOf(node)
    branches.globs ??= new GlobTable()
    return branches.globs.at(segment.glob, () => new TrieNode())
  }

  #shared(text: string): string {
    const known = this.#literals.get(text)
    if (known === undefined) this.#literals.set(text, text)
    return known ?? text
  }

  /** What is stored under each pattern that matches a path, in no particular order, each once. */
  find(path: { readonly compared: string; readonly segments: readonly string[] }): T[] {
    const found: T[] = []
    const plain = this.#plain.size === 0 ? undefined : this.#plain.get(path.compared)
    if (plain !== undefined) found.push(plain)
    if (this.#root !== undefined) new Walk(path.segments, found).from(this.#root)
    return found
  }
}

/** One path on its way through the tree. */
class Walk<T> {
  readonly #segments: readonly string[]
  readonly #found: T[]
  /** Where a `**` was reached, and at which segment first. Made when there is one. */
  #deep: { readonly branches: Branches<T>; readonly at: number }[] | undefined = undefined

  constructor(segments: readonly string[], found: T[]) {
    this.#segments = segments
    this.#found = found
  }

  from(root: TrieNode<T>): void {
    this.#reach(root, 0)
    if (this.#deep === undefined) return
    // The list grows while it is gone through: behind one `**` there may be another.
    for (const { branches, at } of this.#deep) {
      const node = branches.deep as TrieNode<T>
      for (let i = at; i < this.#segments.length; i++) this.#leave(node, i)
    }
    for (const { branches } of this.#deep) branches.isReached = false
  }

  /** Comes to a node with all segments before `at` behind it. */
  #reach(node: TrieNode<T>, at: number): void {
    const { value, valueBelow, more } = node
    if (valueBelow !== undefined) this.#found.push(valueBelow)
    if (more?.deep !== undefined && !more.isReached) {
      more.isReached = true
      this.#deep ??= []
      this.#deep.push({ branches: more, at })
      if (more.deep.value !== undefined) this.#found.push(more.deep.value)
    }
    if (at < this.#segments.length) this.#leave(node, at)
    else if (value !== undefined) this.#found.push(value)
  }

  /** Goes every way on from a node with the segment at `at`. */
  #leave({ literal, next, param, more }: TrieNode<T>, at: number): void {
    const segment = this.#segments[at] as string
    const same =
      more?.literals !== undefined ? more.literals.get(segment) : literal === segment ? next : undefined
    if (same !== undefined) this.#reach(same, at + 1)
    if (param !== undefined) this.#reach(param, at + 1)
    if (more?.globs !== undefined) for (const next of more.globs.find(segment)) this.#reach(next, at + 1)
  }
}

/** The one path a pattern stands for, if it has nothing but literals. */
function plainPath(runs: readonly (readonly PathSegment[])[]): string | undefined {
  const texts = runs.flat().flatMap((segment) => (segment.kind === "literal" ? [segment.text] : []))
  return runs.length === 1 && texts.length === runs[0]?.length ? joined(texts) : undefined
}

function literalChild<T>(node: TrieNode<T>, text: string): TrieNode<T> {
  const known = node.literal === text ? node.next : node.more?.literals?.get(text)
  if (known !== undefined) return known
  const child = new TrieNode<T>()
  if (node.literal === undefined || node.next === undefined) {
    node.literal = text
    node.next = child
  } else {
    const branches = branchesOf(node)
    branches.literals ??= new Map([[node.literal, node.next]])
    branches.literals.set(text, child)
  }
  return child
}

function branchesOf<T>(node: TrieNode<T>): Branches<T> {
  node.more ??= new Branches()
  return node.more
}
