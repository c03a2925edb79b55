// All path patterns of many rules, looked up at once. Plain paths are looked up whole. The others are a tree of segments.
// A node of the tree has one way to it, so that a walk comes to it at one place of the path only; behind a `**` it may
// come at every place, each once. Nothing is tried twice at the same place, and the cost is at most the segments of the
// path times the nodes behind `**` that were reached.

import type { Steps } from "../language/steps.js"
import { joined } from "./path-form.js"
import { type Branches, NODE, PathLayout } from "./path-layout.js"
import type { PathPattern, PathSegment } from "./path-pattern.js"
import { hashOfPath, pathScan } from "./path-scan.js"
import { addPattern, PathNode } from "./path-tree.js"
import { TextLeads } from "./text-leads.js"
import { NONE } from "./text-table.js"

export class PathTrie {
  readonly #plain = new TextLeads(hashOfPath)
  readonly #plainNode: number
  readonly #layout: PathLayout | undefined

  private constructor(plain: ReadonlyMap<string, number>, layout: PathLayout | undefined) {
    this.#plainNode = this.#plain.add(plain)
    this.#plain.seal()
    this.#layout = layout
  }

  /** No two patterns of the same form. */
  static *build(entries: Iterable<readonly [PathPattern, number]>): Steps<PathTrie> {
    const plain = new Map<string, number>()
    let root: PathNode | undefined
    for (const [pattern, value] of entries) {
      const path = plainPath(pattern.runs)
      if (path === undefined) {
        root ??= new PathNode()
        addPattern(root, pattern, value)
      } else plain.set(path, value)
      yield
    }
    return new PathTrie(plain, root && (yield* PathLayout.build(root)))
  }

  /** What is stored under each pattern that matches a path in its compared form, in no particular order, each once. */
  find(path: string): readonly number[] {
    const plain = this.#plain.find(this.#plainNode, path)
    const found = plain === NONE ? undefined : [plain]
    if (this.#layout === undefined) return found ?? NOTHING
    pathScan.see(path)
    return new Walk(this.#layout, path, found).from(0)
  }
}

const NOTHING: readonly number[] = []

/** One path on its way through the tree. */
class Walk {
  readonly #layout: PathLayout
  readonly #words: Int32Array
  readonly #path: string
  /** Made when there is something: an empty list makes room for sixteen when the first is added. */
  #found: number[] | undefined
  /** Where a `**` was reached, and at which segment first. Made when there is one. */
  #deep: { readonly branches: Branches; readonly at: number }[] | undefined = undefined

  /** The path is the one that was scanned last. */
  constructor(layout: PathLayout, path: string, found: number[] | undefined) {
    this.#layout = layout
    this.#words = layout.words
    this.#path = path
    this.#found = found
  }

  from(root: number): readonly number[] {
    this.#reach(root, 0)
    if (this.#deep !== undefined) this.#leaveDeep(this.#deep)
    return this.#found ?? NOTHING
  }

  #leaveDeep(deep: readonly { readonly branches: Branches; readonly at: number }[]): void {
    // The list grows while it is gone through: behind one `**` there may be another.
    for (const { branches, at } of deep) {
      for (let i = at; i < pathScan.count; i++) this.#leave(branches.deep, i)
    }
    for (const { branches } of deep) branches.isReached = false
  }

  /** Comes to a node with all segments before `at` behind it. */
  #reach(node: number, at: number): void {
    this.#add(this.#words[node + NODE.valueBelow] as number)
    const branches = this.#words[node + NODE.branches] as number
    if (branches !== NONE) this.#reachDeep(this.#layout.branches[branches] as Branches, at)
    if (at < pathScan.count) this.#leave(node, at)
    else this.#add(this.#words[node + NODE.value] as number)
  }

  #reachDeep(branches: Branches, at: number): void {
    if (branches.deep === NONE || branches.isReached) return
    branches.isReached = true
    this.#deep ??= []
    this.#deep.push({ branches, at })
    this.#add(this.#words[branches.deep + NODE.value] as number)
  }

  #add(value: number): void {
    if (value === NONE) return
    if (this.#found === undefined) this.#found = [value]
    else this.#found.push(value)
  }

  /** Goes every way on from a node with the segment at `at`. */
  #leave(node: number, at: number): void {
    if (this.#words[node + NODE.literals] !== NONE) this.#leaveByLiteral(node, at)
    const param = this.#words[node + NODE.param] as number
    if (param !== NONE) this.#reach(param, at + 1)
    const branches = this.#words[node + NODE.branches] as number
    if (branches !== NONE) this.#leaveByGlob(this.#layout.branches[branches] as Branches, at)
  }

  #leaveByLiteral(node: number, at: number): void {
    const { starts, hashes } = pathScan
    const end = (starts[at + 1] as number) - 1
    const hash = hashes[at] as number
    const next = this.#layout.literals.find(node, hash, this.#path, starts[at] as number, end)
    if (next !== NONE) this.#reach(next, at + 1)
  }

  #leaveByGlob({ globs }: Branches, at: number): void {
    if (globs === undefined) return
    const { starts } = pathScan
    const nodes: number[] = []
    globs.find(this.#path, starts[at] as number, (starts[at + 1] as number) - 1, nodes)
    for (const node of nodes) this.#reach(node, at + 1)
  }
}

/** The one path a pattern stands for, if it has nothing but literals. */
function plainPath(runs: readonly (readonly PathSegment[])[]): string | undefined {
  const texts = runs.flat().flatMap((segment) => (segment.kind === "literal" ? [segment.text] : []))
  return runs.length === 1 && texts.length === runs[0]?.length ? joined(texts) : undefined
}
