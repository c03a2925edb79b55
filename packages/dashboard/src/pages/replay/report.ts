// What `POST /replay` answers, as far as the page shows it, and the figures that are worked out from it.

export interface ReplayReport {
  readonly format: string
  readonly lines: number
  readonly requests: number
  readonly unreadable: {
    readonly count: number
    readonly first: readonly { readonly line: number; readonly reason: string; readonly text: string }[]
  }
  /** Milliseconds since 1970; not there without any request. */
  readonly from?: number
  readonly to?: number
  readonly disorder: { readonly late: number }
  readonly clients: Distinct
  readonly stepMs: number
  readonly candidates: readonly CandidateReport[]
}

export interface Distinct {
  readonly count: number
  /** False: an estimate. */
  readonly exact: boolean
}

export interface CandidateReport {
  readonly name: string
  readonly allowed: number
  readonly denied: number
  readonly rules: readonly RuleReport[]
  readonly deniedOutright: Readonly<Record<string, number>>
  readonly hurt: { readonly clients: Distinct; readonly most: readonly HurtClient[] }
  readonly series: readonly SeriesStep[]
  readonly worstMinutes: readonly SeriesStep[]
}

export interface RuleReport {
  readonly id: string
  readonly mode: "enforce" | "shadow" | "off"
  readonly requests: number
  readonly denied: number
  readonly shadowDenied: number
}

export interface HurtClient {
  readonly client: string
  readonly requests: number
  readonly denied: number
  readonly firstDenied: number
  readonly lastDenied: number
}

export interface SeriesStep {
  readonly at: number
  readonly requests: number
  readonly denied: number
}

/** All candidates on one time axis. Steps without requests are there too, as nothing. */
export interface Columns {
  /** How long one step of the chart is: one of the report's, or several. */
  readonly stepMs: number
  /** Seconds since 1970. */
  readonly x: readonly number[]
  readonly requests: readonly number[]
  /** One list for each candidate. */
  readonly denied: readonly (readonly number[])[]
}

/** As many bars as can be told apart. */
const MOST_STEPS = 240
const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
/** Steps that people count in. */
const STEPS = [
  ...[15_000, 30_000, MINUTE, 2 * MINUTE, 5 * MINUTE, 10 * MINUTE, 15 * MINUTE, 30 * MINUTE],
  ...[HOUR, 2 * HOUR, 6 * HOUR, 12 * HOUR, DAY, 2 * DAY, 7 * DAY, 28 * DAY],
]

export function columnsOf(report: Pick<ReplayReport, "stepMs" | "candidates">): Columns {
  const { candidates } = report
  const series = candidates[0]?.series ?? []
  const [first, last] = [series[0]?.at ?? 0, series.at(-1)?.at ?? 0]
  const stepMs = chartStep(report.stepMs, last - first)
  const start = Math.floor(first / stepMs) * stepMs
  const length = series.length === 0 ? 0 : Math.floor((last - start) / stepMs) + 1
  const column = (steps: readonly SeriesStep[], field: "requests" | "denied") => {
    const values = new Array<number>(length).fill(0)
    for (const step of steps) {
      const index = Math.floor((step.at - start) / stepMs)
      values[index] = (values[index] ?? 0) + step[field]
    }
    return values
  }
  return {
    stepMs,
    x: Array.from({ length }, (_, i) => (start + i * stepMs) / 1000),
    requests: column(series, "requests"),
    denied: candidates.map((candidate) => column(candidate.series, "denied")),
  }
}

/** The shortest step that holds whole ones of the report, and makes neither too many bars nor a handful. */
function chartStep(stepMs: number, spanMs: number): number {
  if (spanMs / stepMs < MOST_STEPS) return stepMs
  const isFit = (step: number) =>
    step % stepMs === 0 && spanMs / step < MOST_STEPS && spanMs / step > MOST_STEPS / 10
  return STEPS.find(isFit) ?? stepMs * Math.ceil(spanMs / stepMs / MOST_STEPS)
}
