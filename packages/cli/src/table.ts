import { printable } from "./printable.js"
import type { Style } from "./style.js"

export interface Column<Row> {
  readonly title: string
  readonly text: (row: Row) => string
  /** Numbers stand at the right. */
  readonly right?: true
  readonly paint?: (text: string, row: Row) => string
}

const GAP = "  "

/** Rows under their titles, as wide as what is in them. */
export function table<Row>(rows: readonly Row[], columns: readonly Column<Row>[], style: Style): string {
  const cells = rows.map((row) => columns.map(({ text }) => printable(text(row))))
  const widths = columns.map(({ title }, i) =>
    Math.max(title.length, ...cells.map((line) => [...(line[i] ?? "")].length)),
  )
  const pad = (text: string, i: number) => {
    const room = " ".repeat(Math.max(0, (widths[i] ?? 0) - [...text].length))
    return columns[i]?.right ? room + text : text + room
  }
  const titles = columns.map(({ title }, i) => style.dim(pad(title, i)))
  const lines = cells.map((line, at) =>
    line.map((text, i) => columns[i]?.paint?.(pad(text, i), rows[at] as Row) ?? pad(text, i)),
  )
  return [titles, ...lines].map((line) => line.join(GAP).trimEnd()).join("\n")
}
