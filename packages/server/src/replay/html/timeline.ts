import { type Bins, binned } from "../model/bins.js"
import type { CandidateReport } from "../model/report.js"
import { html, type Markup } from "./markup.js"
import { count, duration, time } from "./shown.js"

const WIDTH = 960
const HEIGHT = 180
const LEFT = 56
const BOTTOM = 22
const TOP = 8
const MAX_BINS = 240

/** A bar chart of requests over time. The foot of each bar shows the denied ones. */
export function timeline({ name, series }: CandidateReport, stepMs: number): Markup {
  const plot = binned(series, stepMs, MAX_BINS)
  const most = Math.max(1, ...plot.bins.map(({ requests }) => requests))
  const top = niceAbove(most)
  const step = (WIDTH - LEFT) / plot.bins.length
  const height = (value: number) => ((HEIGHT - BOTTOM - TOP) * value) / top
  const bars = plot.bins.map((bin, i) => {
    const x = LEFT + i * step
    const bar = (value: number, kind: string) =>
      html`<rect class="${kind}" x="${round(x)}" y="${round(HEIGHT - BOTTOM - height(value))}" width="${round(Math.max(0.6, step - 0.6))}" height="${round(height(value))}"/>`
    const { requests, denied, shadowDenied } = bin
    if (requests === 0) return html``
    return html`<g><title>${barTitle(bin, plot)}</title>${bar(requests, "requests")}${
      shadowDenied > 0 ? bar(shadowDenied, "shadow") : html``
    }${denied > 0 ? bar(denied, "denied") : html``}</g>`
  })
  const label = `Requests over time with ${name}: at most ${count(most)} in ${duration(plot.binMs)}`
  return html`<svg viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="${label}">
${yAxis(top, height)}${bars}${xAxis(plot)}
</svg>
<p class="legend"><span class="key requests"></span> requests in ${duration(plot.binMs)} <span class="key denied"></span> denied <span class="key shadow"></span> would be denied (shadow)</p>`
}

function barTitle({ at, requests, denied, shadowDenied }: Bins["bins"][number], { binMs }: Bins): string {
  const shadow = shadowDenied > 0 ? `, ${count(shadowDenied)} by shadows` : ""
  return `${time(at)}, ${duration(binMs)}: ${count(requests)} requests, ${count(denied)} denied${shadow}`
}

function yAxis(top: number, height: (value: number) => number): Markup[] {
  return [0, top / 2, top].map((value) => {
    const y = round(HEIGHT - BOTTOM - height(value))
    return html`<line class="grid" x1="${LEFT}" x2="${WIDTH}" y1="${y}" y2="${y}"/><text x="${LEFT - 6}" y="${y}" dy="0.32em" text-anchor="end">${count(value)}</text>`
  })
}

function xAxis({ from, binMs, bins }: Bins): Markup[] {
  const labels = Math.min(6, bins.length)
  return Array.from({ length: labels }, (_, i) => {
    const bin = Math.floor((i * bins.length) / labels)
    const x = round(LEFT + (bin * (WIDTH - LEFT)) / bins.length)
    return html`<text x="${x}" y="${HEIGHT - 6}">${time(from + bin * binMs).slice(5, 16)}</text>`
  })
}

/** The next larger number of the form 1, 2 or 5 times a power of ten that is even, so that half of it is whole. */
function niceAbove(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value))
  const nice = [1, 2, 5, 10].map((times) => times * power).find((candidate) => candidate >= value) ?? value
  return Math.max(2, nice % 2 === 0 ? nice : nice + 1)
}

function round(value: number): number {
  return Math.round(value * 10) / 10
}
