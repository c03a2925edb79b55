import type { AlignedData } from "uplot"
import type { Property } from "../../browser/theme.js"

export interface ChartSeries {
  readonly label: string
  /** The name of a custom property: `--allowed`. */
  readonly colour: Property
  readonly values: readonly (number | null)[]
  /** Default: a line. */
  readonly shape?: "line" | "area" | "bars" | "steps" | undefined
  /** Default: a different pattern for each line, so that lines differ by more than their colour. */
  readonly dash?: readonly number[] | undefined
}

interface Stacking {
  readonly series: readonly ChartSeries[]
  /** Whether each series is drawn on top of the previous one. */
  readonly stacked: boolean
}

/** The data for uPlot: x, then the series in drawing order, summed up if they are stacked. */
export function chartData(x: readonly number[], shape: Stacking): AlignedData {
  const columns = shape.series.map(({ values }) => values)
  const drawn = shape.stacked ? addedUp(columns) : columns
  return [[...x], ...drawnOrder(shape).map((index) => [...(drawn[index] ?? [])])]
}

/** Stacked areas are drawn from the highest to the lowest, because each covers those below it. */
export function drawnOrder({ series, stacked }: Stacking): number[] {
  const order = series.map((_, index) => index)
  return stacked ? order.reverse() : order
}

export function addedUp(columns: readonly (readonly (number | null)[])[]): (number | null)[][] {
  const sums: (number | null)[][] = []
  for (const column of columns) {
    const below = sums.at(-1)
    sums.push(column.map((value, i) => (value === null ? (below?.[i] ?? null) : value + (below?.[i] ?? 0))))
  }
  return sums
}
