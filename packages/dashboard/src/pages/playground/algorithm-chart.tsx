// The chart of one algorithm: allowed and denied requests, and below them the allowed requests within a window.

import { areaPath, barsPath, xOf } from "./drawing.js"
import type { Outcome } from "./simulate.js"
import { lengthText, type PlaygroundText } from "./texts.js"
import { SLOTS, spanOf, type Terms } from "./traffic.js"
import type { Variant } from "./variants.js"

export interface AlgorithmChartProps {
  readonly variant: Variant
  readonly outcome: Outcome
  readonly terms: Terms
  /** The highest number of requests in a slot of any chart. */
  readonly max: number
  /** The highest number of requests in a window of any chart. */
  readonly maxInWindow: number
  readonly width: number
  /** The shown time, in milliseconds. */
  readonly at: number
  /** The name of an earlier algorithm with the same decisions. */
  readonly alike: string | undefined
  readonly text: PlaygroundText
}

const REQUESTS = 46
const BRACKET = 20
const GAP = 10
const WINDOW = 58
const HEIGHT = BRACKET + REQUESTS + GAP + WINDOW

export function AlgorithmChart(props: AlgorithmChartProps) {
  const { variant, outcome, terms, alike, text, at } = props
  const verdict = verdictOn(outcome, terms, text)
  const admitted = text.admittedOf(String(outcome.admitted), String(outcome.asked))
  const isOver = outcome.busiest.total > terms.limit
  const slot = Math.min(SLOTS - 1, Math.floor(at / spanOf(terms).slotMs))
  return (
    <li class="playground-algorithm" data-variant={variant.id}>
      <div class="playground-algorithm-head">
        <h3 class="mono">{variant.name}</h3>
        <span class={isOver ? "playground-verdict over" : "playground-verdict"}>{verdict}</span>
        <span class="soft numeric">{admitted}</span>
        {alike && <span class="soft">{text.alike(alike)}</span>}
        <span class="playground-now numeric">
          {text.now(outcome.inWindow[slot] ?? 0, outcome.remaining[slot] ?? 0)}
        </span>
      </div>
      <ChartPicture {...props} label={text.chartLabel(variant.name, verdict, admitted)} />
    </li>
  )
}

export function verdictOn({ busiest: { total } }: Outcome, terms: Terms, text: PlaygroundText): string {
  const [length, over] = [lengthText(text, terms), total - terms.limit]
  return over > 0 ? text.over(length, total, over) : text.within(length, total)
}

function ChartPicture({
  variant,
  outcome,
  terms,
  max,
  maxInWindow,
  width,
  at,
  label,
  text,
}: AlgorithmChartProps & {
  readonly label: string
}) {
  const { limit } = terms
  const span = spanOf(terms)
  const bars = { width, height: REQUESTS, max }
  const area = { width, height: WINDOW, max: maxInWindow }
  const limitY = WINDOW - (limit / maxInWindow) * WINDOW
  const edges = variant.options.algorithm === "fixed-window" ? span.boundaries : []
  return (
    <svg class="playground-picture" width={width} height={HEIGHT} role="img" aria-label={label}>
      {edges.map((boundary) => {
        const x = xOf(boundary, width, span)
        return <line key={x} class="edge" x1={x} x2={x} y1={BRACKET} y2={HEIGHT} />
      })}
      {outcome.busiest.total > limit && <Bracket outcome={outcome} terms={terms} width={width} />}
      <g transform={`translate(0 ${BRACKET})`}>
        <line class="floor" x1={0} x2={width} y1={REQUESTS} y2={REQUESTS} />
        <path class="through" d={barsPath(outcome.passed, bars)} />
        <path class="denied" d={barsPath(outcome.denied, { ...bars, below: outcome.passed })} />
      </g>
      <g transform={`translate(0 ${BRACKET + REQUESTS + GAP})`}>
        <line class="floor" x1={0} x2={width} y1={WINDOW} y2={WINDOW} />
        <path class="in-window" d={areaPath(outcome.inWindow, area)} />
        <path class="over" d={areaPath(outcome.inWindow, { ...area, base: limit })} />
        <line class="limit" x1={0} x2={width} y1={limitY} y2={limitY} />
        <text class="limit-label" x={4} y={limitY - 4}>
          {text.limitLine(limit)}
        </text>
      </g>
      <line class="cursor" x1={xOf(at, width, span)} x2={xOf(at, width, span)} y1={BRACKET} y2={HEIGHT} />
    </svg>
  )
}

/** Marks the busiest window with its number of requests. */
function Bracket({ outcome, terms, width }: Pick<AlgorithmChartProps, "outcome" | "terms" | "width">) {
  const { from, total } = outcome.busiest
  const span = spanOf(terms)
  const left = xOf(from, width, span)
  const right = Math.min(width - 1, xOf(from + terms.windowSeconds * 1000, width, span))
  return (
    <g class="bracket">
      <path d={`M${left} ${BRACKET + REQUESTS}V${BRACKET - 3}H${right}V${BRACKET + 4}`} />
      <text x={(left + right) / 2} y={BRACKET - 7}>
        {total}
      </text>
    </g>
  )
}
