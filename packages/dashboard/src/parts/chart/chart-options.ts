// The options of uPlot for a chart. Colours are looked up at every draw, so that a change of theme needs only a redraw.

import uPlot from "uplot"
import { locale } from "../../browser/i18n.js"
import type { Property } from "../../browser/theme.js"
import { type ChartSeries, drawnOrder, isolatedPoints } from "./chart-data.js"

/** A vertical line at a time, with a label. */
export interface ChartMark {
  readonly at: number
  readonly label: string
}

export interface ChartShape {
  readonly series: readonly ChartSeries[]
  /** Whether each series is drawn on top of the previous one. */
  readonly stacked: boolean
  /** Whether x is a time of day (seconds since 1970) or seconds from the start. */
  readonly time: "clock" | "elapsed"
  readonly sync: string | undefined
  readonly marks: () => readonly ChartMark[]
  readonly format: (value: number) => string
  readonly colour: (name: Property) => string
  readonly onCursor: (index: number | undefined) => void
}

const MINUTE = 60
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
/** Distances of ticks in seconds. The default of uPlot has none between one and five minutes. */
const TICK_STEPS = [
  ...[1, 2, 5, 10, 15, 30, MINUTE, 2 * MINUTE, 5 * MINUTE, 10 * MINUTE, 15 * MINUTE, 30 * MINUTE],
  ...[HOUR, 2 * HOUR, 3 * HOUR, 6 * HOUR, 12 * HOUR, DAY, 2 * DAY, 7 * DAY, 14 * DAY, 28 * DAY],
]
const DASHES: readonly (readonly number[])[] = [[], [7, 3], [2, 3], [9, 3, 2, 3]]
const FONT = "11px system-ui, sans-serif"
/** The y axis reaches at least this high: lower, a chart without requests would show fractions of a request. */
const MIN_HEIGHT = 1

export function chartOptions(shape: ChartShape, width: number, height: number): uPlot.Options {
  const { colour, format, time, sync } = shape
  const axis = { stroke: () => colour("--text-soft"), font: FONT, ticks: { show: false } }
  return {
    width,
    height,
    padding: [10, 8, 0, 0],
    legend: { show: false },
    cursor: {
      x: true,
      y: false,
      points: { size: 7 },
      drag: { x: false, y: false },
      ...(sync === undefined ? {} : { sync: { key: sync, setSeries: false } }),
    },
    scales: {
      x: { time: time === "clock" },
      y: { range: (_plot, _min, max) => [0, Math.max(MIN_HEIGHT, (max ?? 0) * 1.08)] },
    },
    axes: [
      {
        ...axis,
        size: 22,
        space: 72,
        ...(time === "clock" ? { incrs: [...TICK_STEPS] } : {}),
        grid: { show: false },
        values: time === "clock" ? clockLabels : (_plot, ticks) => ticks.map((tick) => `${tick} s`),
      },
      {
        ...axis,
        size: 46,
        space: 34,
        grid: { stroke: () => colour("--line"), width: 1 },
        values: (_plot, ticks) => ticks.map((tick) => format(tick)),
      },
    ],
    series: [{}, ...drawnOrder(shape).map((index) => seriesOptions(shape, index))],
    hooks: {
      setCursor: [({ cursor }) => shape.onCursor(cursor.idx ?? undefined)],
      draw: [(plot) => drawMarks(plot, shape)],
    },
  }
}

function seriesOptions({ series, stacked, colour }: ChartShape, index: number): uPlot.Series {
  const { colour: name = "--text", shape = stacked ? "area" : "line", dash } = series[index] ?? {}
  const filled = isFilled(shape)
  const lines = series.slice(0, index).filter((one) => !isFilled(one.shape)).length
  const dashes = dash ?? (filled ? [] : (DASHES[lines % DASHES.length] ?? []))
  return {
    stroke: () => colour(name),
    width: shape === "bars" ? 0 : 1.5,
    dash: [...dashes],
    points: { show: false, size: 4, filter: (plot, at) => isolatedPoints(plot.data[at] ?? []) },
    spanGaps: false,
    ...(filled
      ? { fill: () => filling(colour(name), colour("--surface"), stacked || shape === "bars") }
      : {}),
    ...pathsOf(shape),
  }
}

function isFilled(shape: ChartSeries["shape"]): boolean {
  return shape === "area" || shape === "bars"
}

/** Stacked areas are opaque: they cover the areas below them. */
function filling(colour: string, surface: string, opaque: boolean): string {
  return `color-mix(in srgb, ${colour} ${opaque ? 55 : 18}%, ${opaque ? surface : "transparent"})`
}

function pathsOf(shape: NonNullable<ChartSeries["shape"]>): Pick<uPlot.Series, "paths"> {
  const { bars, stepped } = uPlot.paths
  if (shape === "bars" && bars !== undefined) return { paths: bars({ size: [0.9, 24], align: 1 }) }
  return shape === "steps" && stepped !== undefined ? { paths: stepped({ align: 1 }) } : {}
}

const DAY_FORMAT = { day: "numeric", month: "short" } as const
const MINUTE_FORMAT = { hour: "2-digit", minute: "2-digit", hour12: false } as const
const SECOND_FORMAT = { ...MINUTE_FORMAT, second: "2-digit" } as const

/** Labels with a day, a minute or a second, depending on the distance between ticks. */
function clockLabels(_plot: uPlot, ticks: number[]): string[] {
  const step = (ticks[1] ?? 0) - (ticks[0] ?? 0)
  const form = new Intl.DateTimeFormat(
    locale(),
    step >= DAY ? DAY_FORMAT : step >= MINUTE ? MINUTE_FORMAT : SECOND_FORMAT,
  )
  return ticks.map((tick) => form.format(tick * 1000))
}

/** A single time, with the day if it is more than a day away. */
export function timeText(seconds: number, time: ChartShape["time"]): string {
  if (time === "elapsed") return `${seconds} s`
  const isRecent = Math.abs(Date.now() / 1000 - seconds) < DAY
  return new Intl.DateTimeFormat(
    locale(),
    isRecent ? SECOND_FORMAT : { ...DAY_FORMAT, ...SECOND_FORMAT },
  ).format(seconds * 1000)
}

function drawMarks({ ctx, bbox, valToPos, scales }: uPlot, { marks, colour }: ChartShape): void {
  const { min = 0, max = 0 } = scales.x ?? {}
  ctx.save()
  ctx.strokeStyle = colour("--text-soft")
  ctx.fillStyle = colour("--text-soft")
  ctx.font = `${11 * devicePixelRatio}px system-ui, sans-serif`
  ctx.setLineDash([3 * devicePixelRatio, 3 * devicePixelRatio])
  for (const { at, label } of marks()) {
    if (at < (min ?? 0) || at > (max ?? 0)) continue
    const x = Math.round(valToPos(at, "x", true))
    ctx.beginPath()
    ctx.moveTo(x, bbox.top)
    ctx.lineTo(x, bbox.top + bbox.height)
    ctx.stroke()
    ctx.fillText(label, x + 4 * devicePixelRatio, bbox.top + 10 * devicePixelRatio)
  }
  ctx.restore()
}
