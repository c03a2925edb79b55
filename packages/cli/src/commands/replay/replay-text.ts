// Formats the report of a replay for a terminal.

import {
  binned,
  type CandidateReport,
  count,
  type Distinct,
  duration,
  percent,
  type ReplayReport,
  time,
} from "@sluice/server/replay"
import { columnPlot } from "../../terminal/plot.js"
import { table } from "../../terminal/table.js"
import type { Style } from "../../terminal/terminal.js"
import { counted, printable } from "../../terminal/text.js"

const LABEL_WIDTH = 9
const PLOT_HEIGHT = 6
const MAX_CLIENTS = 10
const MAX_MINUTES = 5
const MAX_LINES = 5

export function replayText(report: ReplayReport, style: Style, width: number): string {
  const parts = [head(report)]
  if (report.unreadable.count > 0) parts.push(unreadable(report, style))
  if (report.candidates.length > 1) parts.push(comparison(report, style))
  for (const candidate of report.candidates) parts.push(...candidateText(candidate, report, style, width))
  return parts.join("\n\n")
}

function head({ requests, clients, from, to, format, lines, disorder }: ReplayReport): string {
  const about = `${count(requests)} requests from ${clientsText(clients)}, ${time(from)} to ${time(to)} UTC (${format}, ${count(lines)} lines)`
  if (disorder.lines === 0) return about
  const late =
    disorder.late === 0
      ? "all were sorted"
      : `${count(disorder.late)} of them by more than --disorder, and were decided in the order of the log`
  return `${about}\n${counted(disorder.lines, "line")} out of order, by up to ${duration(disorder.longestMs)}: ${late}`
}

function unreadable({ unreadable: { count: all, first } }: ReplayReport, style: Style): string {
  const shown = first.slice(0, MAX_LINES)
  const lines = shown.map(
    ({ line, reason, text }) => `  line ${line}: ${reason}: ${style.dim(printable(text).slice(0, 80))}`,
  )
  const more = all > shown.length ? [`  … and ${count(all - shown.length)} more`] : []
  return [style.yellow(`${counted(all, "line")} could not be read:`), ...lines, ...more].join("\n")
}

function distinct({ count: value, exact }: Distinct): string {
  return exact ? count(value) : `about ${count(value)}`
}

function clientsText({ count: value, exact }: Distinct): string {
  return exact ? counted(value, "client") : `about ${counted(value, "client")}`
}

function comparison({ candidates, requests, clients }: ReplayReport, style: Style): string {
  const rows = table(
    candidates,
    [
      { title: "candidate", text: ({ name }) => name },
      { title: "denied", right: true, text: ({ denied }) => count(denied) },
      { title: "of requests", right: true, text: ({ denied }) => percent(denied / requests) },
      { title: "clients affected", right: true, text: ({ hurt }) => distinct(hurt.clients) },
      { title: "of clients", right: true, text: ({ hurt }) => percent(hurt.clients.count / clients.count) },
      { title: "worst minute", right: true, text: ({ worstMinutes }) => count(worstMinutes[0]?.denied ?? 0) },
    ],
    style,
  )
  return `${style.bold("Comparison")}\n${rows}`
}

function candidateText(
  candidate: CandidateReport,
  { requests, clients, stepMs }: ReplayReport,
  style: Style,
  width: number,
): string[] {
  const { name, denied, hurt, worstMinutes } = candidate
  const verdict = `${counted(denied, "request")} denied (${percent(denied / requests)}), ${clientsText(hurt.clients)} affected (${percent(hurt.clients.count / clients.count)})`
  const parts = [
    `${style.bold(printable(name))}: ${denied > 0 ? style.red(verdict) : style.green(verdict)}${asides(candidate)}`,
    rules(candidate, style),
    timeline(candidate, stepMs, style, width),
  ]
  if (hurt.most.length > 0) parts.push(affectedClients(candidate, style))
  if (worstMinutes.length > 0) parts.push(worst(candidate, style))
  return parts
}

function asides({ deniedOutright, delayed, uncounted, holds, costs }: CandidateReport): string {
  const lines = Object.entries(deniedOutright).map(
    ([reason, value]) => `${count(value)} of them without a counter: ${reason}`,
  )
  if (delayed.count > 0)
    lines.push(`${count(delayed.count)} delayed, by up to ${duration(delayed.longestMs)}`)
  if (uncounted > 0)
    lines.push(
      `${count(uncounted)} allowed without counting, because there were more keys than the store holds`,
    )
  if (holds.untimed > 0)
    lines.push(
      `${count(holds.untimed)} met limits of concurrency, and the log does not tell how long they took: these limits denied too little here`,
    )
  if (costs.settled + costs.estimated > 0)
    lines.push(
      `costs from responses: the log settled ${counted(costs.settled, "request")}, and ${count(costs.estimated)} kept their estimate`,
    )
  return lines.map((line) => `\n  ${line}`).join("")
}

function rules({ rules }: CandidateReport, style: Style): string {
  return table(
    rules,
    [
      { title: "rule", text: ({ id }) => id },
      { title: "mode", text: ({ mode }) => mode },
      { title: "requests", right: true, text: ({ requests }) => count(requests) },
      { title: "denied", right: true, text: ({ denied }) => count(denied) },
      { title: "would be denied", right: true, text: ({ shadowDenied }) => count(shadowDenied) },
      {
        title: "most denied key",
        text: ({ keys: [first] }) => (first === undefined ? "" : `${first.key} (${count(first.denied)})`),
      },
    ],
    style,
  )
}

/** A chart of requests above a chart of denials. Each has its own scale. */
function timeline({ series }: CandidateReport, stepMs: number, style: Style, width: number): string {
  const { bins, binMs } = binned(series, stepMs, Math.max(20, Math.min(width, 120) - LABEL_WIDTH - 1))
  const label = (text: string) => style.dim(text.padStart(LABEL_WIDTH - 1))
  const plot = (
    title: string,
    values: readonly number[],
    height: number,
    paint: (text: string) => string,
  ) => {
    const max = Math.max(0, ...values)
    const lines = columnPlot(values, height, max).map(
      (line, i) => `${label(i === 0 ? count(max) : "")} ${paint(line.trimEnd())}`,
    )
    return [`${label("")} ${style.dim(`${title} per ${duration(binMs)}`)}`, ...lines]
  }
  const denials = bins.map(({ denied, shadowDenied }) => Math.max(denied, shadowDenied))
  const isShadow = bins.every(({ denied }) => denied === 0)
  const begin = time(bins[0]?.at).slice(0, 16)
  const end = time((bins.at(-1)?.at ?? 0) + binMs).slice(0, 16)
  const room = Math.max(1, bins.length - begin.length - end.length)
  return [
    ...plot(
      "requests",
      bins.map(({ requests }) => requests),
      PLOT_HEIGHT,
      style.cyan,
    ),
    ...(denials.some((value) => value > 0)
      ? plot(isShadow ? "would be denied" : "denied", denials, PLOT_HEIGHT / 2, style.red)
      : []),
    `${label("")} ${style.dim(`${begin}${" ".repeat(room)}${end}`)}`,
  ].join("\n")
}

function affectedClients({ hurt }: CandidateReport, style: Style): string {
  const shares = hurt.shares.map(({ upTo, clients }, i) => {
    const above = hurt.shares[i - 1]?.upTo ?? 0
    const range = above === 0 ? `up to ${upTo * 100}% of their requests` : `${above * 100} to ${upTo * 100}%`
    return `${count(clients)} lose ${range}`
  })
  const rows = table(
    hurt.most.slice(0, MAX_CLIENTS),
    [
      { title: "client", text: ({ client }) => client },
      { title: "requests", right: true, text: ({ requests }) => count(requests) },
      { title: "denied", right: true, text: ({ denied }) => count(denied) },
      { title: "share", right: true, text: ({ denied, requests }) => percent(denied / requests) },
      { title: "first denied (UTC)", text: ({ firstDenied }) => time(firstDenied) },
    ],
    style,
  )
  return `${style.bold("Clients affected")}: ${shares.join(", ")}\n${rows}`
}

function worst({ worstMinutes }: CandidateReport, style: Style): string {
  const rows = table(
    worstMinutes.slice(0, MAX_MINUTES),
    [
      { title: "minute (UTC)", text: ({ at }) => time(at).slice(0, 16) },
      { title: "requests", right: true, text: ({ requests }) => count(requests) },
      { title: "denied", right: true, text: ({ denied }) => count(denied) },
      { title: "would be denied", right: true, text: ({ shadowDenied }) => count(shadowDenied) },
    ],
    style,
  )
  return `${style.bold("Worst minutes")}\n${rows}`
}
