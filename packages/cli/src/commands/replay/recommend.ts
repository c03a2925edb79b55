import {
  count,
  duration,
  percent,
  type Recommendation,
  type RecommendedAlgorithm,
  recommend,
  time,
} from "@sluice/server/replay"
import type { RecommendInvocation } from "../../catalog/replay.js"
import type { ExitCode } from "../../command.js"
import { writeResult } from "../../files.js"
import { bar } from "../../terminal/plot.js"
import { table } from "../../terminal/table.js"
import type { Style } from "../../terminal/terminal.js"
import { counted } from "../../terminal/text.js"
import { LogInput, logOptionsOf } from "./log-input.js"
import { Progress } from "./progress.js"

const LABEL_WIDTH = 24

export async function recommendLimit({ args, options, terminal }: RecommendInvocation): Promise<ExitCode> {
  const { key, path, method, output } = options
  const input = new LogInput(args.logs, terminal)
  const progress = new Progress(terminal, input, await input.size())
  const match = {
    ...(path.length > 0 ? { path: [...path] } : {}),
    ...(method.length > 0 ? { method: [...method] } : {}),
  }
  const found = await recommend(input.chunks(), {
    ...logOptionsOf(options),
    keyBy: key.length > 1 ? [...key] : (key[0] ?? "ip"),
    window: options.window,
    timeZone: options.timeZone,
    share: options.share,
    algorithm: options.algorithm as RecommendedAlgorithm | undefined,
    id: options.id,
    match: Object.keys(match).length > 0 ? match : undefined,
    onProgress: ({ lines }) => progress.update(lines),
  }).finally(() => progress.end())
  if (output !== undefined) await writeResult(output, found.yaml)
  if (options.json) terminal.json(found)
  else terminal.print(recommendText(found, terminal.style, terminal.width))
  if (output !== undefined) terminal.note(`wrote ${output}`)
  return 0
}

function recommendText(found: Recommendation, style: Style, width: number): string {
  const { requests, clients, from, to, limit, denied, notCounted, unreadable, yaml } = found
  const all = clients.exact ? count(clients.count) : `about ${count(clients.count)}`
  const about = [
    `${count(requests)} requests from ${all} clients, ${time(from)} to ${time(to)} UTC`,
    ...(notCounted > 0 ? [`${counted(notCounted, "request")} not counted: no match, or no key`] : []),
    ...(unreadable.count > 0 ? [style.yellow(`${counted(unreadable.count, "line")} could not be read`)] : []),
  ]
  const verdict = `${style.bold(`A limit of ${count(limit)} per ${windowName(found)}`)} would have denied ${counted(denied.clients, "client")} (${percent(denied.share)}) at least once.`
  return [
    about.join("\n"),
    peaks(found, style),
    histogram(found, style, width),
    verdict,
    yaml.trimEnd(),
  ].join("\n\n")
}

/** A window of the calendar by its name, another one by its length. */
function windowName({ window, windowMs }: Recommendation): string {
  return /^[a-z]+$/.test(window) ? window : duration(windowMs)
}

function peaks(found: Recommendation, style: Style): string {
  const { peaks } = found
  const { p50, p75, p90, p95, p99, p999, max } = peaks
  const right = true
  const columns = { p50, p75, p90, p95, p99, "p99.9": p999, max }
  const rows = table(
    [columns],
    Object.entries(columns).map(([title, value]) => ({ title, right, text: () => count(value) })),
    style,
  )
  return `${style.bold(`The busiest ${windowName(found)} of each client, in requests`)}\n${rows}`
}

/** How many clients had a peak in each range. */
function histogram({ histogram, limit }: Recommendation, style: Style, width: number): string {
  const max = Math.max(...histogram.map(({ clients }) => clients))
  const lines = histogram.map(({ upTo, clients }, i) => {
    const from = (histogram[i - 1]?.upTo ?? 0) + 1
    const range = from === upTo ? count(upTo) : `${count(from)} to ${count(upTo)}`
    const label = `${range.padStart(14)} ${count(clients).padStart(8)} `
    const isLimit = limit >= from && limit <= upTo
    const room = Math.max(10, Math.min(width, 100) - LABEL_WIDTH - 10)
    return `${label}${style.cyan(bar(clients, max, room))}${isLimit ? style.bold("  ← limit") : ""}`
  })
  return [style.dim(`${"requests".padStart(14)} ${"clients".padStart(8)}`), ...lines].join("\n")
}
