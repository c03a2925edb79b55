import stringWidth from "string-width"
import type { Style } from "./terminal.js"
import { printable } from "./text.js"

export interface Column<Row> {
  readonly title: string
  readonly text: (row: Row) => string
  /** Aligns the column to the right, for numbers. */
  readonly right?: true
  readonly paint?: (text: string, row: Row) => string
}

const GAP = "  "

/** A table with a line of titles. Each column is as wide as its widest cell. */
export function table<Row>(rows: readonly Row[], columns: readonly Column<Row>[], style: Style): string {
  const cells = rows.map((row) => columns.map(({ text }) => printable(text(row))))
  const widths = columns.map(({ title }, i) =>
    Math.max(title.length, ...cells.map((line) => stringWidth(line[i] ?? ""))),
  )
  const pad = (text: string, i: number) => {
    const spaces = " ".repeat(Math.max(0, (widths[i] ?? 0) - stringWidth(text)))
    return columns[i]?.right ? spaces + text : text + spaces
  }
  const titles = columns.map(({ title }, i) => style.dim(pad(title, i)))
  const lines = cells.map((line, at) =>
    line.map((text, i) => columns[i]?.paint?.(pad(text, i), rows[at] as Row) ?? pad(text, i)),
  )
  return [titles, ...lines].map((line) => line.join(GAP).trimEnd()).join("\n")
}
