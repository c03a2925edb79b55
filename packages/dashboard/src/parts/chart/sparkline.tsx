// A small line chart without axes, to be used inside a row of text.

import "./chart.css"
import type { Property } from "../../browser/theme.js"

export interface SparklineProps {
  /** The accessible name, with the most important number: "12 denied in the last minute". */
  readonly label: string
  /** Null leaves a gap in the line. */
  readonly values: readonly (number | null)[]
  /** The name of a custom property. Default: `--accent`. */
  readonly colour?: Property | undefined
}

const WIDTH = 100
const HEIGHT = 24

export function Sparkline({ label, values, colour = "--accent" }: SparklineProps) {
  const set = (element: SVGElement | null) => element?.style.setProperty("--swatch", `var(${colour})`)
  return (
    <svg
      class="sparkline"
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      preserveAspectRatio="none"
      role="img"
      aria-label={label}
      ref={set}
    >
      <path d={sparklinePath(values)} />
    </svg>
  )
}

/** An SVG path from left to right, scaled so that the highest value is at the top and zero at the bottom. */
export function sparklinePath(values: readonly (number | null)[]): string {
  const max = Math.max(1, ...values.map((value) => value ?? 0))
  const step = WIDTH / Math.max(1, values.length - 1)
  let path = ""
  values.forEach((value, i) => {
    if (value === null) return
    const isStart = i === 0 || values[i - 1] === null
    const y = HEIGHT - 1 - (value / max) * (HEIGHT - 2)
    path += `${isStart ? "M" : "L"}${(i * step).toFixed(1)} ${y.toFixed(1)}`
  })
  return values.length === 1 && path !== "" ? `${path}H${WIDTH}` : path
}

/** A small square in the colour of a custom property, set by the CSSOM because the policy forbids style attributes. */
export function Swatch({ colour }: { readonly colour: Property }) {
  const set = (element: HTMLElement | null) => element?.style.setProperty("--swatch", `var(${colour})`)
  return <i class="swatch" aria-hidden="true" ref={set} />
}
