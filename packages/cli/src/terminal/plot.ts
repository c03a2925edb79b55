// Charts drawn with block characters.

const COLUMN_EIGHTHS = [" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"]
const BAR_EIGHTHS = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"]

/** The last `width` values as one line of columns, scaled to the largest of them. A zero is blank. */
export function sparkline(series: readonly number[], width: number): string {
  const values = series.slice(-width)
  const max = Math.max(...values)
  return values
    .map((value) => (value <= 0 ? " " : COLUMN_EIGHTHS[Math.min(8, Math.ceil((value / max) * 8))]))
    .join("")
}

/** A column chart of `height` lines, the top line first. A value of `max` fills its column. */
export function columnPlot(values: readonly number[], height: number, max: number): string[] {
  return Array.from({ length: height }, (_, i) => {
    const floor = height - 1 - i
    return values
      .map((value) => {
        const eighths = max > 0 ? Math.round((value / max) * height * 8) : 0
        // The smallest value above zero still shows.
        const shown = value > 0 ? Math.max(1, eighths) : 0
        return COLUMN_EIGHTHS[Math.max(0, Math.min(8, shown - floor * 8))] ?? " "
      })
      .join("")
  })
}

/** A horizontal bar. A value of `max` fills `width` characters. */
export function bar(value: number, max: number, width: number): string {
  if (!(value > 0) || !(max > 0)) return ""
  const eighths = Math.max(1, Math.round((value / max) * width * 8))
  return "█".repeat(eighths >> 3) + (BAR_EIGHTHS[eighths & 7] ?? "")
}
