// A line as small as a word: the shape of the last minute, without axes.

import "./chart.css"
import type { Property } from "../../browser/theme.js"

export interface SparklineProps {
  /** What it shows, with the number that matters: "12 denied in the last minute". */
  readonly label: string
  readonly values: readonly number[]
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

/** From the left to the right, from zero to the highest value. */
export function sparklinePath(values: readonly number[]): string {
  if (values.length === 0) return ""
  const most = Math.max(1, ...values)
  const step = WIDTH / Math.max(1, values.length - 1)
  const points = values.map((value, i) => {
    const y = HEIGHT - 1 - (value / most) * (HEIGHT - 2)
    return `${(i * step).toFixed(1)} ${y.toFixed(1)}`
  })
  return `M${points.join("L")}${values.length === 1 ? `H${WIDTH}` : ""}`
}

/** A mark in the colour of a custom property. Set through the CSSOM: the policy of the page forbids style attributes. */
export function Swatch({ colour }: { readonly colour: Property }) {
  const set = (element: HTMLElement | null) => element?.style.setProperty("--swatch", `var(${colour})`)
  return <i class="swatch" aria-hidden="true" ref={set} />
}
