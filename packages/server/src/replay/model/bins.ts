// Turns a series into bins of equal length for a chart.

import type { SeriesStep } from "./report.js"

export interface Bins {
  readonly from: number
  readonly binMs: number
  /** All bins, empty ones included. */
  readonly bins: readonly SeriesStep[]
}

const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
/** Usual lengths of time. Others would not divide hours and days evenly, and the chart would show false waves. */
const NICE = [
  ...[1, 2, 5, 10, 15, 30].map((times) => times * SECOND),
  ...[1, 2, 5, 10, 15, 30].map((times) => times * MINUTE),
  ...[1, 2, 3, 6, 12].map((times) => times * HOUR),
  ...[1, 2, 7, 14, 28, 91, 364].map((times) => times * DAY),
]

/** Divides a series into at most `most` bins. */
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
