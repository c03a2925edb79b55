// What differs between two texts, line by line: the shortest way from one to the other (Myers, 1986).

export interface DiffLine {
  readonly kind: "same" | "removed" | "added"
  readonly text: string
  /** Counted from 1; undefined on the side that does not have it. */
  readonly before: number | undefined
  readonly after: number | undefined
}

/** Lines that belong together, with some that stayed the same around them. */
export interface Hunk {
  readonly lines: readonly DiffLine[]
}

/** Changes looked for at most: two texts that have next to nothing in common are shown whole, one after the other. */
const MOST_CHANGES = 800

export function diffLines(before: string, after: string): DiffLine[] {
  const [old, now] = [linesOf(before), linesOf(after)]
  let head = 0
  while (head < old.length && head < now.length && old[head] === now[head]) head++
  let tail = 0
  while (
    tail < old.length - head &&
    tail < now.length - head &&
    old[old.length - 1 - tail] === now[now.length - 1 - tail]
  )
    tail++
  const middle = shortest(old.slice(head, old.length - tail), now.slice(head, now.length - tail))
  const kinds = [...same(head), ...middle, ...same(tail)]
  let [i, j] = [0, 0]
  return kinds.map((kind) => {
    if (kind === "added") return { kind, text: now[j++] as string, before: undefined, after: j }
    const text = old[i++] as string
    return kind === "removed"
      ? { kind, text, before: i, after: undefined }
      : { kind, text, before: i, after: ++j }
  })
}

/** Only what changed, with a few lines around it. */
export function hunksOf(lines: readonly DiffLine[], around = 3): Hunk[] {
  const hunks: DiffLine[][] = []
  let last = Number.NEGATIVE_INFINITY
  lines.forEach(({ kind }, i) => {
    if (kind === "same") return
    const from = Math.max(i - around, last, 0)
    if (from > last) hunks.push([])
    hunks.at(-1)?.push(...lines.slice(from, i + around + 1))
    last = Math.min(lines.length, i + around + 1)
  })
  return hunks.map((hunk) => ({ lines: hunk }))
}

function shortest(old: readonly string[], now: readonly string[]): DiffLine["kind"][] {
  const most = Math.min(old.length + now.length, MOST_CHANGES)
  /** How far into `old` one comes on each diagonal, after each number of changes. */
  const steps: Map<number, number>[] = []
  let reached = new Map([[1, 0]])
  for (let changes = 0; changes <= most; changes++) {
    steps.push(new Map(reached))
    const next = new Map(reached)
    for (let diagonal = -changes; diagonal <= changes; diagonal += 2) {
      let i = isDown(reached, diagonal, changes)
        ? (reached.get(diagonal + 1) ?? 0)
        : (reached.get(diagonal - 1) ?? 0) + 1
      while (i < old.length && i - diagonal < now.length && old[i] === now[i - diagonal]) i++
      next.set(diagonal, i)
      if (i >= old.length && i - diagonal >= now.length) return walkBack(steps, old.length, now.length)
    }
    reached = next
  }
  return [...old.map(() => "removed" as const), ...now.map(() => "added" as const)]
}

function walkBack(steps: readonly Map<number, number>[], i: number, j: number): DiffLine["kind"][] {
  const kinds: DiffLine["kind"][] = []
  for (let changes = steps.length - 1; changes >= 0 && (i > 0 || j > 0); changes--) {
    const reached = steps[changes] as Map<number, number>
    const diagonal = i - j
    const from = isDown(reached, diagonal, changes) ? diagonal + 1 : diagonal - 1
    const fromI = reached.get(from) ?? 0
    const fromJ = fromI - from
    while (i > fromI && j > fromJ) {
      kinds.push("same")
      i--
      j--
    }
    if (changes === 0) break
    kinds.push(i === fromI ? "added" : "removed")
    i = fromI
    j = fromJ
  }
  return kinds.reverse()
}

function isDown(reached: ReadonlyMap<number, number>, diagonal: number, changes: number): boolean {
  if (diagonal === -changes) return true
  return diagonal !== changes && (reached.get(diagonal - 1) ?? 0) < (reached.get(diagonal + 1) ?? 0)
}

function same(count: number): DiffLine["kind"][] {
  return Array.from({ length: count }, () => "same")
}

/** The end of the last line begins no line of its own. */
function linesOf(text: string): string[] {
  const lines = text.split("\n")
  if (lines.at(-1) === "") lines.pop()
  return lines
}
