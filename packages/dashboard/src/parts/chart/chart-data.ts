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

/** The indices of values between two gaps. A line would not show them, so they are drawn as points. */
export function isolatedPoints(values: ArrayLike<number | null | undefined>): number[] | null {
  const isGap = (i: number) => (values[i] ?? null) === null
  const found = Array.from(values, (_, i) => i).filter((i) => !isGap(i) && isGap(i - 1) && isGap(i + 1))
  return found.length === 0 ? null : found
}

/** The sums of each column and all columns before it. A gap counts as zero. */
export function addedUp(columns: readonly (readonly (number | null)[])[]): (number | null)[][] {
  const sums: (number | null)[][] = []
  for (const column of columns) {
    const below = sums.at(-1)
    sums.push(column.map((value, i) => (value === null ? (below?.[i] ?? null) : value + (below?.[i] ?? 0))))
  }
  return sums
}
