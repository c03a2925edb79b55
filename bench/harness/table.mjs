// One table, two looks: columns for a terminal and Markdown for the docs.

/** @typedef {{ title: string, head: readonly string[], rows: readonly (readonly string[])[], note?: string }} Table */

/** @param {Table} table */
export function textTable({ title, head, rows, note }) {
  const widths = columnWidths(head, rows)
  const line = (/** @type {readonly string[]} */ row) =>
    row
      .map((cell, i) => aligned(cell, i, widths))
      .join("  ")
      .trimEnd()
  const ruler = widths.map((width) => "─".repeat(width)).join("──")
  return [title, line(head), ruler, ...rows.map(line), ...(note ? [note] : []), ""].join("\n")
}

/** @param {Table} table */
export function markdownTable({ title, head, rows, note }) {
  const line = (/** @type {readonly string[]} */ row) => `| ${row.join(" | ")} |`
  const ruler = `|${head.map((_, i) => (i === 0 ? "---" : "---:")).join("|")}|`
  return [`### ${title}`, "", line(head), ruler, ...rows.map(line), "", ...(note ? [note, ""] : [])].join(
    "\n",
  )
}

/**
 * @param {readonly string[]} head
 * @param {readonly (readonly string[])[]} rows
 */
function columnWidths(head, rows) {
  return head.map((_, i) => Math.max(...[head, ...rows].map((row) => row[i]?.length ?? 0)))
}

/**
 * @param {string} cell
 * @param {number} column
 * @param {readonly number[]} widths
 */
function aligned(cell, column, widths) {
  const width = widths[column] ?? 0
  return column === 0 ? cell.padEnd(width) : cell.padStart(width)
}
