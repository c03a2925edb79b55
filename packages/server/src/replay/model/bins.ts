// A series as a picture needs it: so many bins of the same length, empty ones too.

import type { SeriesStep } from "./report.js"

export interface Bins {
  readonly from: number
  readonly binMs: number
  /** Without gaps. */
  readonly bins: readonly SeriesStep[]
}

const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
/** Lengths that people think in: others would cut hours and days anywhere, and draw waves that are not there. */
const NICE = [
  ...[1, 2, 5, 10, 15, 30].map((times) => times * SECOND),
  ...[1, 2, 5, 10, 15, 30].map((times) => times * MINUTE),
  ...[1, 2, 3, 6, 12].map((times) => times * HOUR),
  ...[1, 2, 7, 14, 28, 91, 364].map((times) => times * DAY),
]

/** At most so many bins from the first step to the last. */
export function binned(series: readonly SeriesStep[], stepMs: number, most: number): Bins {
  const first = series[0]?.at ?? 0
  const end = (series.at(-1)?.at ?? first) + stepMs
  const start = (binMs: number) => Math.floor(first / binMs) * binMs
  const fits = (binMs: number) => (end - start(binMs)) / binMs <= most
  let binMs = NICE.find((nice) => nice % stepMs === 0 && fits(nice)) ?? stepMs
  while (!fits(binMs)) binMs *= 2
  const from = start(binMs)
  const bins = Array.from({ length: Math.ceil((end - from) / binMs) }, (_, i) => ({
    at: from + i * binMs,
    requests: 0,
    denied: 0,
    shadowDenied: 0,
  }))
  for (const { at, requests, denied, shadowDenied } of series) {
    const bin = bins[Math.floor((at - from) / binMs)]
    if (bin === undefined) continue
    bin.requests += requests
    bin.denied += denied
    bin.shadowDenied += shadowDenied
  }
  return { from, binMs, bins }
}
