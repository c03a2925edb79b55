// Plots of characters.

const EIGHTHS = [" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"]
const PARTS = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"]

/** Columns side by side, as high as their values; the highest fills all lines. From the top line down. */
export function columnPlot(values: readonly number[], height: number, most: number): string[] {
  return Array.from({ length: height }, (_, i) => {
    const floor = height - 1 - i
    return values
      .map((value) => {
        const eighths = most > 0 ? Math.round((value / most) * height * 8) : 0
        // What is there is seen, however little it is.
        const shown = value > 0 ? Math.max(1, eighths) : 0
        return EIGHTHS[Math.max(0, Math.min(8, shown - floor * 8))] ?? " "
      })
      .join("")
  })
}

/** A bar from the left: the most fills the width. */
export function bar(value: number, most: number, width: number): string {
  if (!(value > 0) || !(most > 0)) return ""
  const eighths = Math.max(1, Math.round((value / most) * width * 8))
  return "█".repeat(eighths >> 3) + (PARTS[eighths & 7] ?? "")
}
