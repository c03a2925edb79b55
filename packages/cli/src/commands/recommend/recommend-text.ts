import { count, duration, percent, type Recommendation, time } from "@sluice/server/replay"
import type { Style } from "../../style.js"
import { table } from "../../table.js"
import { counted } from "../../words.js"
import { bar } from "../replay/plot.js"

const LABEL = 24

export function recommendText(found: Recommendation, style: Style, width: number): string {
  const { requests, clients, from, to, windowMs, limit, denied, notCounted, unreadable, yaml } = found
  const all = clients.exact ? count(clients.count) : `about ${count(clients.count)}`
  const about = [
    `${count(requests)} requests of ${all} clients, ${time(from)} to ${time(to)} UTC`,
    ...(notCounted > 0 ? [`${counted(notCounted, "request")} that did not match, or lacked the key`] : []),
    ...(unreadable.count > 0 ? [style.yellow(`${counted(unreadable.count, "line")} could not be read`)] : []),
  ]
  const verdict = `${style.bold(`A limit of ${count(limit)} per ${duration(windowMs)}`)} would ever have denied ${counted(denied.clients, "client")} (${percent(denied.share)}).`
  return [
    about.join("\n"),
    peaks(found, style),
    histogram(found, style, width),
    verdict,
    yaml.trimEnd(),
  ].join("\n\n")
}

function peaks({ peaks, windowMs }: Recommendation, style: Style): string {
  const { p50, p75, p90, p95, p99, p999, max } = peaks
  const right = true
  const columns = { p50, p75, p90, p95, p99, "p99.9": p999, max }
  const rows = table(
    [columns],
    Object.entries(columns).map(([title, value]) => ({ title, right, text: () => count(value) })),
    style,
  )
  return `${style.bold(`The most that a client asked for in ${duration(windowMs)}`)}\n${rows}`
}

/** How many clients had which peak. */
function histogram({ histogram, limit }: Recommendation, style: Style, width: number): string {
  const most = Math.max(...histogram.map(({ clients }) => clients))
  const lines = histogram.map(({ upTo, clients }, i) => {
    const from = (histogram[i - 1]?.upTo ?? 0) + 1
    const range = from === upTo ? count(upTo) : `${count(from)} to ${count(upTo)}`
    const label = `${range.padStart(14)} ${count(clients).padStart(8)} `
    const isLimit = limit >= from && limit <= upTo
    const room = Math.max(10, Math.min(width, 100) - LABEL - 10)
    return `${label}${style.cyan(bar(clients, most, room))}${isLimit ? style.bold("  ← limit") : ""}`
  })
  return [style.dim(`${"requests".padStart(14)} ${"clients".padStart(8)}`), ...lines].join("\n")
}
