// The parts of the answer of `POST /replay` that the page shows, and the figures that it computes from them.

export interface ReplayReport {
  readonly format: string
  readonly lines: number
  readonly requests: number
  readonly unreadable: {
    readonly count: number
    readonly first: readonly { readonly line: number; readonly reason: string; readonly text: string }[]
  }
  /** Milliseconds since 1970. Missing if the log has no requests. */
  readonly from?: number
  readonly to?: number
  readonly disorder: { readonly late: number }
  readonly clients: Distinct
  readonly stepMs: number
  readonly candidates: readonly CandidateReport[]
}

export interface Distinct {
  readonly count: number
  /** False if the count is an estimate. */
  readonly exact: boolean
}

export interface CandidateReport {
  readonly name: string
  readonly allowed: number
  readonly denied: number
  readonly rules: readonly RuleReport[]
  readonly deniedOutright: Readonly<Record<string, number>>
  /** Missing in the report of an older service. */
  readonly holds?: { readonly timed: number; readonly untimed: number }
  /** Missing in the report of an older service. */
  readonly costs?: { readonly settled: number; readonly estimated: number }
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

/** The series of all candidates on one time axis. Steps without requests are zero. */
export interface Columns {
  /** The length of one step of the chart: one step of the report, or several. */
  readonly stepMs: number
  /** Seconds since 1970. */
  readonly x: readonly number[]
  readonly requests: readonly number[]
  /** One list for each candidate. */
  readonly denied: readonly (readonly number[])[]
}

/** More bars would be too narrow to tell apart. */
const MAX_STEPS = 240
const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
/** Usual lengths of a step. */
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

/** The shortest usual step that is a multiple of the report's and makes neither too many nor too few bars. */
function chartStep(stepMs: number, spanMs: number): number {
  if (spanMs / stepMs < MAX_STEPS) return stepMs
  const isFit = (step: number) =>
    step % stepMs === 0 && spanMs / step < MAX_STEPS && spanMs / step > MAX_STEPS / 10
  return STEPS.find(isFit) ?? stepMs * Math.ceil(spanMs / stepMs / MAX_STEPS)
}
