// A chart of values over time, on a canvas. A legend shows the values under the pointer as text, and screen readers
// announce them. The arrow keys move the pointer.

import { effect } from "@preact/signals"
import { useEffect, useRef, useState } from "preact/hooks"
import uPlot from "uplot"
import "uplot/dist/uPlot.min.css"
import "./chart.css"
import { isDark, Palette, type Property } from "../../browser/theme.js"
import { type ChartSeries, chartData } from "./chart-data.js"
import { type ChartMark, chartOptions, timeText } from "./chart-options.js"
import { Swatch } from "./sparkline.js"

export type { ChartMark, ChartSeries }

export interface ChartProps {
  /** The heading and accessible name: "Requests per second". */
  readonly label: string
  /** Seconds, in ascending order. */
  readonly x: readonly number[]
  readonly series: readonly ChartSeries[]
  readonly height?: number | undefined
  readonly stacked?: boolean | undefined
  /** Whether x is a time of day (seconds since 1970) or seconds from the start. Default: clock. */
  readonly time?: "clock" | "elapsed" | undefined
  /** Shows the last `follow` seconds and moves with the time. */
  readonly follow?: number | undefined
  /** Charts with the same `sync` share their pointer. */
  readonly sync?: string | undefined
  readonly marks?: readonly ChartMark[] | undefined
  readonly format?: ((value: number) => string) | undefined
  /** Hides the heading. The accessible name stays. */
  readonly untitled?: boolean | undefined
}

/** The shortest time between two steps of the time axis. */
const FRAME_MS = 16
const plainNumber = new Intl.NumberFormat("en", { maximumFractionDigits: 1, notation: "compact" })

export function Chart(props: ChartProps) {
  const { label, x, series, height = 180, stacked = false, time = "clock", follow, sync, marks = [] } = props
  const format = props.format ?? ((value: number) => plainNumber.format(value))
  const place = useRef<HTMLDivElement>(null)
  const plot = useRef<uPlot | undefined>(undefined)
  // The hooks of uPlot are created once and read the latest properties from here.
  const latest = useRef({ marks, format, x, series, stacked })
  latest.current = { marks, format, x, series, stacked }
  const [hovered, setHovered] = useState<number>()

  const shapes = series.map(({ label, colour, shape = "", dash = [] }) =>
    [label, colour, shape, ...dash].join(" "),
  )
  const form = JSON.stringify([shapes, stacked, time, sync, height])
  // `form` changes whenever uPlot needs a new plot.
  useEffect(() => {
    const element = place.current
    if (element === null) return
    const palette = new Palette()
    const shape = {
      series,
      stacked,
      time,
      sync,
      marks: () => latest.current.marks,
      format: (value: number) => latest.current.format(value),
      colour: (name: Property) => palette.colour(name),
      onCursor: setHovered,
    }
    const made = new uPlot(
      chartOptions(shape, element.clientWidth, height),
      chartData(latest.current.x, latest.current),
      element,
    )
    plot.current = made
    const sized = new ResizeObserver(() => made.setSize({ width: element.clientWidth, height }))
    sized.observe(element)
    const unwatch = effect(() => {
      isDark()
      // After the style sheet has applied the theme.
      requestAnimationFrame(() => {
        palette.forget()
        if (plot.current === made) made.redraw(false)
      })
    })
    return () => {
      unwatch()
      sized.disconnect()
      made.destroy()
      plot.current = undefined
    }
  }, [form])

  useEffect(() => {
    plot.current?.setData(chartData(x, { series, stacked }), follow === undefined)
  }, [x, series, stacked, follow, form])

  useEffect(() => (follow === undefined ? undefined : glide(plot, follow)), [follow, form])

  const move = (event: KeyboardEvent): void => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key]
    const made = plot.current
    if (step === undefined || made === undefined || x.length === 0) return
    event.preventDefault()
    const index = Math.min(x.length - 1, Math.max(0, (hovered ?? x.length) + step))
    made.setCursor({ left: made.valToPos(x[index] as number, "x"), top: 0 })
  }

  const shown = hovered ?? x.length - 1
  const when = x[shown] === undefined ? "" : timeText(x[shown], time)
  const values = series.map(({ label, values }) => `${label}: ${valueAt(values, shown, format)}`).join(", ")
  return (
    <figure class="chart">
      <figcaption class="chart-head">
        {props.untitled ? null : <span class="chart-title">{label}</span>}
        <ul class="chart-legend">
          {hovered !== undefined && <li class="numeric">{when}</li>}
          {series.map((one) => (
            <li key={one.label}>
              <Swatch colour={one.colour} />
              {one.label} <b>{valueAt(one.values, shown, format)}</b>
            </li>
          ))}
        </ul>
      </figcaption>
      <div
        ref={place}
        class="chart-plot"
        role="slider"
        tabIndex={0}
        aria-label={label}
        aria-orientation="horizontal"
        aria-valuemin={0}
        aria-valuemax={Math.max(0, x.length - 1)}
        aria-valuenow={Math.max(0, shown)}
        aria-valuetext={when === "" ? values : `${when}: ${values}`}
        onKeyDown={move}
      />
    </figure>
  )
}

function valueAt(
  values: readonly (number | null)[],
  index: number,
  format: (value: number) => string,
): string {
  const value = values[index]
  return value === null || value === undefined ? "–" : format(value)
}

/** Moves the time axis by one pixel at a time. For 15 minutes on a usual screen, that is about once a second. */
function glide(plot: { readonly current: uPlot | undefined }, seconds: number): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined
  const step = () => {
    const now = Date.now() / 1000
    plot.current?.setScale("x", { min: now - seconds, max: now })
    const pixel = seconds / (plot.current?.bbox.width || 1_000)
    timer = setTimeout(step, Math.max(FRAME_MS, pixel * 1000))
  }
  step()
  return () => clearTimeout(timer)
}
