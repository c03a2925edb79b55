import type { ComponentChildren } from "preact"

export interface Column<Row> {
  readonly title: string
  /** Aligned to the right, as numbers are. */
  readonly numeric?: boolean
  /** Hidden on narrow screens. */
  readonly optional?: boolean
  readonly cell: (row: Row) => ComponentChildren
}

export interface TableProps<Row> {
  /** What the table shows. Screen readers announce it. */
  readonly caption: string
  readonly columns: readonly Column<Row>[]
  readonly rows: readonly Row[]
  readonly keyOf: (row: Row) => string
}

/** A table. The cells of the first column are the headers of their rows. */
export function Table<Row>({ caption, columns, rows, keyOf }: TableProps<Row>) {
  const kindOf = ({ numeric, optional }: Column<Row>) =>
    [numeric && "numeric", optional && "optional"].filter(Boolean).join(" ") || undefined
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a table wider than the page is scrolled with the keyboard too
    <section class="table-scroll" aria-label={caption} tabIndex={0}>
      <table>
        <caption class="hidden">{caption}</caption>
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column.title} scope="col" class={kindOf(column)}>
                {column.title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={keyOf(row)}>
              {columns.map((column, i) =>
                i === 0 ? (
                  <th key={column.title} scope="row" class={kindOf(column)}>
                    {column.cell(row)}
                  </th>
                ) : (
                  <td key={column.title} class={kindOf(column)}>
                    {column.cell(row)}
                  </td>
                ),
              )}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  )
}
