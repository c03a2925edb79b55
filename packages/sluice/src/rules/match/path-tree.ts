// Path patterns as a tree of segments, from which a PathTrie is made.

import type { Glob } from "./glob.js"
import type { PathPattern, PathSegment } from "./path-pattern.js"

export class PathNode {
  literals: Map<string, PathNode> | undefined = undefined
  /** By the text of the glob. */
  globs: Map<string, { readonly glob: Glob; readonly node: PathNode }> | undefined = undefined
  /** Behind any one segment. */
  param: PathNode | undefined = undefined
  /** Behind a `**`. */
  deep: PathNode | undefined = undefined
  /** What is stored under the pattern that ends here, and under the one that ends here with `**`. */
  value: number | undefined = undefined
  valueBelow: number | undefined = undefined
}

export function addPattern(root: PathNode, { runs }: PathPattern, value: number): void {
  let node = root
  for (const [i, run] of runs.entries()) {
    // A node behind another `**` may be reached more than once, and would tell its value each time.
    if (i === 1 && runs.length === 2 && run.length === 0) {
      node.valueBelow = value
      return
    }
    if (i > 0) {
      node.deep ??= new PathNode()
      node = node.deep
    }
    for (const segment of run) node = childFor(node, segment)
  }
  node.value = value
}

function childFor(node: PathNode, segment: PathSegment): PathNode {
  if (segment.kind === "param") {
    node.param ??= new PathNode()
    return node.param
  }
  if (segment.kind === "literal") {
    node.literals ??= new Map()
    const known = node.literals.get(segment.text)
    if (known !== undefined) return known
    const child = new PathNode()
    node.literals.set(segment.text, child)
    return child
  }
  const { glob } = segment
  node.globs ??= new Map()
  const known = node.globs.get(glob.text)
  if (known !== undefined) return known.node
  const child = new PathNode()
  node.globs.set(glob.text, { glob, node: child })
  return child
}
