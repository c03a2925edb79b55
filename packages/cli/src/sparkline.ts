const BARS = "▁▂▃▄▅▆▇█"

/** A series as a line of bars, scaled to its largest value; nothing is a blank. */
export function sparkline(series: readonly number[], width: number): string {
  const values = series.slice(-width)
  const most = Math.max(...values)
  return values
    .map((value) =>
      value <= 0 ? " " : BARS[Math.min(BARS.length - 1, Math.ceil((value / most) * BARS.length) - 1)],
    )
    .join("")
}
