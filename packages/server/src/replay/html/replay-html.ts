// Writes the report as one HTML file. Charts are SVG, so the file needs no script and nothing from elsewhere.

import type { CandidateReport, Distinct, ReplayReport } from "../model/report.js"
import { html, Markup } from "./markup.js"
import { count, duration, percent, time } from "./shown.js"
import { timeline } from "./timeline.js"

/** The report as a page to keep, send or print. `title` is usually the name of the log. */
export function replayHtml(report: ReplayReport, title: string): string {
  const { candidates } = report
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>Replay of ${title}</title>
<style>${new Markup(STYLE)}</style>
</head>
<body>
<h1>Replay of ${title}</h1>
<p class="soft">${time(report.from)} to ${time(report.to)} UTC · format ${report.format} · ${count(report.lines)} lines</p>
<div class="cards">
${card("requests", count(report.requests))}
${card("clients", distinct(report.clients))}
${card("lines that were not read", count(report.unreadable.count))}
${card("lines out of order", count(report.disorder.lines))}
</div>
${disorder(report)}
<h2>${candidates.length > 1 ? "The candidates side by side" : "The candidate"}</h2>
${comparison(report)}
${candidates.map((candidate) => section(candidate, report))}
${unreadable(report)}
</body>
</html>
`.text
}

function card(label: string, value: string): Markup {
  return html`<div class="card"><b>${value}</b>${label}</div>`
}

function distinct({ count: value, exact }: Distinct): string {
  return exact ? count(value) : `about ${count(value)}`
}

function disorder({ disorder: { lines, longestMs, late } }: ReplayReport): Markup {
  if (lines === 0) return html``
  const lateness =
    late === 0
      ? "All of them were put in order."
      : `${count(late)} came too late to be put in order and were decided when they came.`
  return html`<p class="soft">Lines step back by up to ${duration(longestMs)}. ${lateness}</p>`
}

interface Column<Row> {
  readonly title: string
  readonly isNumber?: boolean
  readonly value: (row: Row) => string
}

function table<Row>(rows: readonly Row[], columns: readonly Column<Row>[]): Markup {
  const cell = (tag: string, isNumber: boolean | undefined, text: string) =>
    html`<${new Markup(tag)}${new Markup(isNumber === true ? ' class="n"' : "")}>${text}</${new Markup(tag)}>`
  return html`<table><thead><tr>${columns.map(({ title, isNumber }) => cell("th", isNumber, title))}</tr></thead>
<tbody>${rows.map(
    (row) => html`<tr>${columns.map(({ value, isNumber }) => cell("td", isNumber, value(row)))}</tr>
`,
  )}</tbody></table>`
}

const number = <Row>(title: string, value: (row: Row) => string): Column<Row> => ({
  title,
  isNumber: true,
  value,
})

function comparison({ candidates, requests, clients }: ReplayReport): Markup {
  return table(candidates, [
    { title: "candidate", value: ({ name }) => name },
    number("denied", ({ denied }) => count(denied)),
    number("of requests", ({ denied }) => percent(denied / requests)),
    number("would be denied by shadows", ({ series }) => count(sum(series, "shadowDenied"))),
    number("clients affected", ({ hurt }) => distinct(hurt.clients)),
    number("of clients", ({ hurt }) => percent(hurt.clients.count / clients.count)),
    number("most denied in a minute", ({ worstMinutes }) => count(worstMinutes[0]?.denied ?? 0)),
  ])
}

function section(candidate: CandidateReport, { stepMs, candidates }: ReplayReport): Markup {
  const { name, rules, hurt, worstMinutes, deniedOutright, delayed, uncounted, holds, costs } = candidate
  const keys = rules.flatMap(({ id, keys }) => keys.slice(0, 5).map((key) => ({ id, ...key })))
  const outright = Object.entries(deniedOutright)
  return html`
<h2>${candidates.length > 1 ? name : "When"}</h2>
${timeline(candidate, stepMs)}
<h3>Rules</h3>
${table(rules, [
  { title: "rule", value: ({ id }) => id },
  { title: "mode", value: ({ mode }) => mode },
  number("requests", ({ requests }) => count(requests)),
  number("denied", ({ denied }) => count(denied)),
  number("would be denied", ({ shadowDenied }) => count(shadowDenied)),
])}
${outright.length > 0 ? html`<p>Denied without counting: ${outright.map(([reason, value]) => `${reason} ${count(value)}`).join(", ")}.</p>` : html``}
${delayed.count > 0 ? html`<p>${count(delayed.count)} requests would have been held back first, for up to ${duration(delayed.longestMs)}.</p>` : html``}
${uncounted > 0 ? html`<p>${count(uncounted)} requests were allowed without counting: there were more keys at once than are held.</p>` : html``}
${holds.untimed > 0 ? html`<p>${count(holds.untimed)} requests met limits of concurrency, and the log does not tell how long they took: these limits denied too little here.</p>` : html``}
${costs.settled + costs.estimated > 0 ? html`<p>Costs from responses: the log settled ${count(costs.settled)} requests, and ${count(costs.estimated)} kept their estimate.</p>` : html``}
<h3>Who would be affected</h3>
<p>${distinct(hurt.clients)} clients would have had a request denied. ${shares(candidate)}</p>
${table(hurt.most, [
  { title: "client", value: ({ client }) => client },
  number("requests", ({ requests }) => count(requests)),
  number("denied", ({ denied }) => count(denied)),
  number("share", ({ denied, requests }) => percent(denied / requests)),
  { title: "first denied (UTC)", value: ({ firstDenied }) => time(firstDenied) },
  { title: "last", value: ({ lastDenied }) => time(lastDenied) },
])}
<div class="columns"><div>
<h3>Worst minutes</h3>
${table(worstMinutes, [
  { title: "minute (UTC)", value: ({ at }) => time(at).slice(0, 16) },
  number("requests", ({ requests }) => count(requests)),
  number("denied", ({ denied }) => count(denied)),
  number("by shadows", ({ shadowDenied }) => count(shadowDenied)),
])}
</div><div>
<h3>Most denied keys</h3>
${table(keys, [
  { title: "rule", value: ({ id }) => id },
  { title: "key", value: ({ key }) => key },
  number("denied", ({ denied }) => count(denied)),
])}
</div></div>`
}

/** "3 lost more than half of their requests, …" */
function shares({ hurt }: CandidateReport): string {
  const bounds = hurt.shares.map(({ upTo, clients }, i) => {
    const above = hurt.shares[i - 1]?.upTo ?? 0
    return `${count(clients)} lost ${above === 0 ? "up to" : `${above * 100}% to`} ${upTo * 100}% of their requests`
  })
  return hurt.clients.count === 0 ? "" : `${bounds.join(", ")}.`
}

function unreadable({ unreadable: { count: all, first } }: ReplayReport): Markup {
  if (all === 0) return html``
  return html`<h2>Lines that were not read</h2>
<p class="soft">${first.length < all ? `The first ${first.length} of ${count(all)}.` : `All ${count(all)}.`}</p>
${table(first, [
  number("line", ({ line }) => String(line)),
  { title: "why", value: ({ reason }) => reason },
  { title: "text", value: ({ text }) => text },
])}`
}

function sum<Field extends string>(rows: readonly Record<Field, number>[], field: Field): number {
  return rows.reduce((all, row) => all + row[field], 0)
}

/** The style sheet of the report: light and dark, system fonts, printable. */
const STYLE = `
:root { color-scheme: light dark; --ink: #1b1f24; --soft: #59636e; --line: #d5dae0; --paper: #fff; --card: #f6f8fa; --requests: #9db4d0; --denied: #c2362b; --shadow: #b7791f }
@media (prefers-color-scheme: dark) { :root { --ink: #e6eaf0; --soft: #9aa5b1; --line: #323a44; --paper: #12161b; --card: #1a2027; --requests: #46617f; --denied: #f0685c; --shadow: #d9a441 } }
* { box-sizing: border-box }
body { margin: 0 auto; max-width: 1040px; padding: 24px 20px 64px; background: var(--paper); color: var(--ink); font: 15px/1.5 system-ui, sans-serif }
h1 { font-size: 24px; margin: 0 0 4px } h2 { font-size: 19px; margin: 40px 0 8px } h3 { font-size: 15px; margin: 24px 0 6px }
p { margin: 6px 0 } .soft, .legend { color: var(--soft) } .legend { font-size: 13px }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums }
th, td { padding: 5px 10px 5px 0; border-bottom: 1px solid var(--line); text-align: left; vertical-align: top }
th { font-weight: 600; font-size: 13px; color: var(--soft) } td.n, th.n { text-align: right } td { overflow-wrap: anywhere }
svg { width: 100%; height: auto; display: block } svg text { fill: var(--soft); font: 11px system-ui, sans-serif } .grid { stroke: var(--line) }
rect.requests, .key.requests { fill: var(--requests); background: var(--requests) } rect.denied, .key.denied { fill: var(--denied); background: var(--denied) } rect.shadow, .key.shadow { fill: var(--shadow); background: var(--shadow) }
.key { display: inline-block; width: 10px; height: 10px; margin-left: 10px } .key:first-child { margin-left: 0 }
.cards { display: grid; grid-template-columns: repeat(auto-fit, minmax(150px, 1fr)); gap: 10px; margin: 18px 0 }
.card { background: var(--card); border: 1px solid var(--line); border-radius: 8px; padding: 10px 14px } .card b { display: block; font-size: 21px; font-variant-numeric: tabular-nums }
code { font: 13px ui-monospace, monospace } .columns { display: grid; grid-template-columns: repeat(auto-fit, minmax(320px, 1fr)); gap: 0 32px }
@media print { body { max-width: none } h2 { break-before: auto } table, svg { break-inside: avoid } }
`
