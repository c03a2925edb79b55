import { getOrAdd } from "../../get-or-add.js"
import type { PathPattern, PathSegment } from "../language/path-pattern.js"
import { GlobIndex } from "./glob-index.js"

/** The patterns that begin with the same segments. */
class PathNode<Value> {
  /** The nodes after literal segments. */
  literals: Map<string, PathNode<Value>> | undefined = undefined
  /** The nodes after segments with `*`. */
  globs: GlobIndex<PathNode<Value>> | undefined = undefined
  /** The node after `:name`. */
  param: PathNode<Value> | undefined = undefined
  /** The node after `**`. */
  deep: PathNode<Value> | undefined = undefined
  /** The value of the pattern that ends here. */
  value: Value | undefined = undefined
  /** The value of the pattern that ends here with `**`, if it has no other `**`. */
  valueBelow: Value | undefined = undefined

  getOrAdd(segment: PathSegment): PathNode<Value> {
    const create = () => new PathNode<Value>()
    if (segment.kind === "literal") {
      this.literals ??= new Map()
      return getOrAdd(this.literals, segment.text, create)
    }
    if (segment.kind === "glob") {
      this.globs ??= new GlobIndex()
      return this.globs.getOrAdd(segment.glob, create)
    }
    this.param ??= create()
    return this.param
  }
}

/** Values by path pattern, in a tree with one level per segment. */
export class PathTrie<Value> {
  readonly #root = new PathNode<Value>()

  set({ runs }: PathPattern, value: Value): void {
    let node = this.#root
    for (const [i, run] of runs.entries()) {
      if (i === 1 && runs.length === 2 && run.length === 0) {
        node.valueBelow = value
        return
      }
      if (i > 0) {
        node.deep ??= new PathNode()
        node = node.deep
      }
      for (const segment of run) node = node.getOrAdd(segment)
    }
    node.value = value
  }

  /** The values of all patterns that match the segments of a path, each once, in no particular order. */
  find(segments: readonly string[]): readonly Value[] {
    return new Walk<Value>(segments).from(this.#root)
  }
}

/**
 * The walk of one path through the tree. The node after a `**` may follow on any segment of the path. All other nodes have one
 * place in the path for each place of the `**` before them. So the walk visits no node twice at the same segment, and the work
 * is at most the number of segments times the number of nodes after a `**` that the walk reaches.
 */
class Walk<Value> {
  readonly #segments: readonly string[]
  readonly #found: Value[] = []
  /** The nodes after a `**` that the walk has reached, and the first segment that may follow on each. */
  #deep: Map<PathNode<Value>, number> | undefined = undefined

  constructor(segments: readonly string[]) {
    this.#segments = segments
  }

  from(root: PathNode<Value>): readonly Value[] {
    this.#reach(root, 0)
    if (this.#deep !== undefined) {
      // The map grows during the iteration if there is another `**` after this one.
      for (const [node, first] of this.#deep)
        for (let at = first; at < this.#segments.length; at++) this.#leave(node, at)
    }
    return this.#found
  }

  /** Visits a node that the segments before `at` lead to. */
  #reach(node: PathNode<Value>, at: number): void {
    if (node.valueBelow !== undefined) this.#found.push(node.valueBelow)
    if (node.deep !== undefined) this.#reachDeep(node.deep, at)
    if (at < this.#segments.length) this.#leave(node, at)
    else if (node.value !== undefined) this.#found.push(node.value)
  }

  #reachDeep(deep: PathNode<Value>, at: number): void {
    this.#deep ??= new Map()
    // The first time comes with the smallest `at`, and the walk then tries all later segments.
    if (this.#deep.has(deep)) return
    this.#deep.set(deep, at)
    if (deep.value !== undefined) this.#found.push(deep.value)
  }

  /** Visits every node that the segment at `at` leads to. */
  #leave({ literals, param, globs }: PathNode<Value>, at: number): void {
    const segment = this.#segments[at] as string
    const literal = literals?.get(segment)
    if (literal !== undefined) this.#reach(literal, at + 1)
    if (param !== undefined) this.#reach(param, at + 1)
    if (globs !== undefined) for (const node of globs.find(segment)) this.#reach(node, at + 1)
  }
}
