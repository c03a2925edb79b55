/** One line of a comparison: kept, taken away or added. */
export interface DiffLine {
  readonly sign: " " | "-" | "+"
  readonly text: string
}

/** The shortest way from one text to the other, line by line. For texts of a rule's size: it takes a table of both. */
export function lineDiff(before: readonly string[], after: readonly string[]): DiffLine[] {
  // common[i][j]: how many lines `before` from i and `after` from j have in common.
  const common = Array.from({ length: before.length + 1 }, () => new Array<number>(after.length + 1).fill(0))
  for (let i = before.length - 1; i >= 0; i--) {
    for (let j = after.length - 1; j >= 0; j--) {
      const [row, below] = [common[i] as number[], common[i + 1] as number[]]
      row[j] = before[i] === after[j] ? (below[j + 1] ?? 0) + 1 : Math.max(below[j] ?? 0, row[j + 1] ?? 0)
    }
  }
  const lines: DiffLine[] = []
  let [i, j] = [0, 0]
  while (i < before.length || j < after.length) {
    if (i < before.length && before[i] === after[j]) {
      lines.push({ sign: " ", text: before[i] as string })
      i++
      j++
    } else if (i < before.length && (common[i + 1]?.[j] ?? 0) >= (common[i]?.[j + 1] ?? 0)) {
      lines.push({ sign: "-", text: before[i++] as string })
    } else lines.push({ sign: "+", text: after[j++] as string })
  }
  return lines
}
