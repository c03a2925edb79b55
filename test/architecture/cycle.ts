export interface Import {
  readonly from: string
  readonly to: string
}

/** One cycle among these edges, as a list of nodes that begins and ends with the same one; empty if there is none. */
export function findCycle(edges: readonly Import[]): string[] {
  const targets = new Map<string, string[]>()
  for (const { from, to } of edges) targets.set(from, [...(targets.get(from) ?? []), to])
  const done = new Set<string>()
  const path: string[] = []
  const visit = (node: string): string[] => {
    if (path.includes(node)) return [...path.slice(path.indexOf(node)), node]
    if (done.has(node)) return []
    path.push(node)
    for (const to of targets.get(node) ?? []) {
      const cycle = visit(to)
      if (cycle.length > 0) return cycle
    }
    path.pop()
    done.add(node)
    return []
  }
  for (const node of targets.keys()) {
    const cycle = visit(node)
    if (cycle.length > 0) return cycle
  }
  return []
}
