/** A mistake and where it is, counted from 1. */
export interface Mark {
  readonly line: number
  readonly column: number
  readonly message: string
}

/** Where a mark begins in a text. */
export function offsetOf(text: string, { line, column }: Pick<Mark, "line" | "column">): number {
  let at = 0
  for (let i = 1; i < line; i++) {
    const end = text.indexOf("\n", at)
    if (end === -1) return text.length
    at = end + 1
  }
  const end = text.indexOf("\n", at)
  return Math.min(at + column - 1, end === -1 ? text.length : end)
}

/** What is wrong in each line that has a mistake. */
export function messagesByLine(marks: readonly Mark[]): ReadonlyMap<number, string> {
  const lines = new Map<number, string>()
  for (const { line, message } of marks) {
    const before = lines.get(line)
    lines.set(line, before === undefined ? message : `${before}\n${message}`)
  }
  return lines
}
