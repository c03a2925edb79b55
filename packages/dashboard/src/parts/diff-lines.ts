import { structuredPatch } from "diff"

export interface DiffLine {
  readonly kind: "same" | "removed" | "added"
  readonly text: string
  /** Line numbers count from 1. They are undefined in the text that does not have the line. */
  readonly before: number | undefined
  readonly after: number | undefined
}

/** A group of changed lines, with a few unchanged lines around them. */
export type Hunk = readonly DiffLine[]

/** Two texts that differ in more lines are shown whole, one after the other: the search for the shortest diff is quadratic. */
const MAX_CHANGES = 800
const KINDS = { " ": "same", "-": "removed", "+": "added" } as const

/** The lines that differ between two texts, each group with up to `around` unchanged lines before and after it. */
export function diffLines(before: string, after: string, around = 3): Hunk[] {
  const options = { context: around, maxEditLength: MAX_CHANGES }
  const patch = structuredPatch("", "", withLineEnd(before), withLineEnd(after), "", "", options)
  if (patch === undefined) return [[...everyLine("-", before), ...everyLine("+", after)]]
  return patch.hunks.map(({ lines, oldStart, newStart }) => numbered(lines, oldStart, newStart))
}

function everyLine(sign: "-" | "+", text: string): DiffLine[] {
  const lines = withLineEnd(text).split("\n").slice(0, -1)
  return numbered(
    lines.map((line) => sign + line),
    1,
    1,
  )
}

function numbered(lines: readonly string[], oldStart: number, newStart: number): DiffLine[] {
  let [before, after] = [oldStart, newStart]
  return lines.map((line) => {
    const kind = KINDS[line[0] as keyof typeof KINDS]
    return {
      kind,
      text: line.slice(1),
      before: kind === "added" ? undefined : before++,
      after: kind === "removed" ? undefined : after++,
    }
  })
}

/** A missing line end after the last line is not a difference. */
function withLineEnd(text: string): string {
  return text === "" || text.endsWith("\n") ? text : `${text}\n`
}
