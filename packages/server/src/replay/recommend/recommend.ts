import { type Duration, parseDuration, SluiceError } from "sluice"
import { type Calendar, isCalendarUnit, openCalendar } from "sluice/internal"
import { createRuleEngine, type RuleEngine, type RuleSetDocument, type RuleSpec } from "sluice/rules"
import { stringify } from "yaml"
import type { LoggedRequest } from "../log/logged-request.js"
import { type LogSummary, readLog } from "../log/read-log.js"
import type { LogChunks, LogOptions } from "../model/replay-options.js"
import type { Distinct } from "../model/report.js"
import { peakMeter, RECOMMENDED_ALGORITHMS, type RecommendedAlgorithm } from "./peak-meter.js"
import { PeakTable } from "./peak-table.js"

export interface RecommendOptions extends LogOptions {
  /** How clients are identified, as in a rule. Default: `ip`. */
  readonly keyBy?: RuleSpec["keyBy"] | undefined
  /** A duration, or a window of the calendar: `"hour"`, `"day"`, `"week"`, `"month"`. Default: one minute. */
  readonly window?: Duration | undefined
  /** The time zone of a window of the calendar. Default: UTC. */
  readonly timeZone?: string | undefined
  /** The share of clients that the limit may deny. Default: 0.001. */
  readonly share?: number | undefined
  /** Which requests to consider. Default: all. */
  readonly match?: RuleSpec["match"] | undefined
  /** Default: `sliding-window-counter`, as in rules; `fixed-window` for a window of the calendar, which needs it. */
  readonly algorithm?: RecommendedAlgorithm | undefined
  /** How requests identify their client, as in a rule set. */
  readonly identity?: RuleSetDocument["identity"] | undefined
  /** The id of the recommended rule. Default: `recommended`. */
  readonly id?: string | undefined
}

export interface Recommendation extends LogSummary {
  readonly from: number | undefined
  readonly to: number | undefined
  /** As in the rule: `1m`, `month`. */
  readonly window: string
  /** A month counts as 31 days. */
  readonly windowMs: number
  readonly share: number
  /** Distinct keys. */
  readonly clients: Distinct
  /** Requests that do not match or have no key. */
  readonly notCounted: number
  /** Percentiles of the clients' peaks: half of the clients never exceeded `p50` in a window, and so on. */
  readonly peaks: Peaks
  /** How many clients had which peak, from one bound (exclusive) to the next. */
  readonly histogram: readonly { readonly upTo: number; readonly clients: number }[]
  /** The smallest limit that denies at most the given share of clients. */
  readonly limit: number
  /** Clients that the limit would have denied at least once. */
  readonly denied: { readonly clients: number; readonly share: number }
  /** The rule, in shadow mode. */
  readonly ruleSet: RuleSetDocument
  /** The rule as a commented YAML file. */
  readonly yaml: string
}

export interface Peaks {
  readonly p50: number
  readonly p75: number
  readonly p90: number
  readonly p95: number
  readonly p99: number
  readonly p999: number
  readonly max: number
}

/** Recommends a limit from real traffic: the smallest one that would have denied at most the given share of clients. */
export async function recommend(chunks: LogChunks, options: RecommendOptions = {}): Promise<Recommendation> {
  const { keyBy = "ip", share = 0.001 } = options
  checkShare(share)
  const { algorithm, window, windowMs, calendar } = windowOf(options)
  const rule = (limit: number): RuleSpec => ({
    id: options.id ?? "recommended",
    mode: "shadow",
    ...(options.match === undefined ? {} : { match: options.match }),
    keyBy,
    onMissingKey: "skip",
    limits: [
      {
        algorithm,
        limit,
        window,
        ...(options.timeZone === undefined ? {} : { timeZone: options.timeZone }),
      },
    ],
  })
  const keys = new KeyFinder({ version: 1, ...identityOf(options), rules: [rule(1)] })
  const table = new PeakTable(() => peakMeter(algorithm, windowMs * 1000, calendar))
  let from: number | undefined
  let to: number | undefined
  let notCounted = 0
  try {
    const summary = await readLog(
      chunks,
      (request) => {
        const { at } = request
        if (from === undefined || at < from) from = at
        if (to === undefined || at > to) to = at
        const key = keys.of(request, at)
        if (key === undefined) notCounted++
        else table.request(key, Math.round(at * 1000))
      },
      { ...options, headers: true },
    )
    const { peaks } = table
    if (peaks.length === 0) throw nothingCounted(keyBy)
    const limit = peaks[peaks.length - 1 - Math.floor(share * peaks.length)] ?? 1
    const above = peaks.filter((peak) => peak > limit).length
    const ruleSet: RuleSetDocument = { version: 1, ...identityOf(options), rules: [rule(limit)] }
    const found = {
      ...summary,
      from,
      to,
      window,
      windowMs,
      share,
      clients: table.keys,
      notCounted,
      peaks: peaksOf(peaks),
      histogram: histogramOf(peaks),
      limit,
      denied: { clients: above, share: above / peaks.length },
      ruleSet,
    }
    return { ...found, yaml: yamlOf(found) }
  } finally {
    await keys.close()
  }
}

interface RecommendedWindow {
  readonly algorithm: RecommendedAlgorithm
  readonly window: string
  readonly windowMs: number
  readonly calendar?: Calendar
}

const DAY_MS = 86_400_000
const CALENDAR_MS = { hour: 3_600_000, day: DAY_MS, week: 7 * DAY_MS, month: 31 * DAY_MS }

function windowOf({ window = "1m", timeZone, algorithm }: RecommendOptions): RecommendedWindow {
  const conflict = (place: string, expected: string, found: unknown) =>
    new SluiceError("OPTION_CONFLICT", { place: `recommend.${place}`, expected, found })
  if (algorithm !== undefined) checkAlgorithm(algorithm)
  if (!isCalendarUnit(window)) {
    if (timeZone !== undefined)
      throw conflict(
        "timeZone",
        'is an option of the windows "hour", "day", "week" and "month" only',
        timeZone,
      )
    const windowMs = parseDuration(window, "recommend.window")
    return { algorithm: algorithm ?? "sliding-window-counter", window: durationText(windowMs), windowMs }
  }
  if (algorithm !== undefined && algorithm !== "fixed-window")
    throw conflict("algorithm", `must be fixed-window for the window "${window}"`, algorithm)
  const calendar = openCalendar({ unit: window, timeZone: timeZone ?? "UTC" }, "recommend.timeZone")
  return { algorithm: "fixed-window", window, windowMs: CALENDAR_MS[window], calendar }
}

/** Reads the key of a request with the real engine, by a check that charges nothing. */
class KeyFinder {
  readonly #engine: RuleEngine
  readonly #options = { at: 0, cost: 0 }

  constructor(rules: RuleSetDocument) {
    this.#engine = createRuleEngine({ rules })
  }

  of(request: LoggedRequest, at: number): string | undefined {
    this.#options.at = at
    return this.#engine.checkSync(request, this.#options).rules[0]?.key
  }

  async close(): Promise<void> {
    await this.#engine.close()
  }
}

function identityOf({ identity }: RecommendOptions): Pick<RuleSetDocument, "identity"> {
  return identity === undefined ? {} : { identity }
}

/** A percentile by nearest rank. */
function peaksOf(peaks: readonly number[]): Peaks {
  const at = (share: number) => peaks[Math.max(0, Math.ceil(share * peaks.length) - 1)] ?? 0
  return {
    p50: at(0.5),
    p75: at(0.75),
    p90: at(0.9),
    p95: at(0.95),
    p99: at(0.99),
    p999: at(0.999),
    max: at(1),
  }
}

function histogramOf(peaks: readonly number[]): { upTo: number; clients: number }[] {
  const bins: { upTo: number; clients: number }[] = []
  let at = 0
  for (let upTo = 1; at < peaks.length; upTo *= 2) {
    const start = at
    while (at < peaks.length && (peaks[at] as number) <= upTo) at++
    bins.push({ upTo, clients: at - start })
  }
  return bins
}

function yamlOf({
  ruleSet,
  clients,
  denied,
  share,
  from,
  to,
  requests,
}: Omit<Recommendation, "yaml">): string {
  const day = (ms: number | undefined) => (ms === undefined ? "?" : new Date(ms).toISOString().slice(0, 16))
  const about = [
    `From ${requests} requests of ${clients.count} clients, ${day(from)} to ${day(to)} UTC:`,
    `${denied.clients} of them (${percent(denied.share)}) would have been denied at least once; the goal was at most ${percent(share)}.`,
    "In shadow it reports and never blocks. When the reports are as expected: mode: enforce.",
  ]
  return `${about.map((line) => `# ${line}\n`).join("")}${stringify(ruleSet)}`
}

function percent(share: number): string {
  return `${Number((share * 100).toPrecision(3))}%`
}

const UNITS = [
  ["d", 86_400_000],
  ["h", 3_600_000],
  ["m", 60_000],
  ["s", 1_000],
] as const

/** Writes a duration in the largest unit that gives a whole number, as rules do. */
function durationText(ms: number): string {
  const unit = UNITS.find(([, length]) => ms % length === 0)
  return unit === undefined ? `${ms}ms` : `${ms / unit[1]}${unit[0]}`
}

function checkShare(share: number): void {
  if (share >= 0 && share < 1) return
  const expected = "must be a number from 0 to below 1: 0.001 for one client in a thousand"
  throw new SluiceError("OPTION_TYPE", { place: "recommend.share", expected, found: share })
}

function checkAlgorithm(algorithm: string): void {
  if ((RECOMMENDED_ALGORITHMS as readonly string[]).includes(algorithm)) return
  const expected = `must be one of ${RECOMMENDED_ALGORITHMS.join(", ")}`
  throw new SluiceError("OPTION_TYPE", { place: "recommend.algorithm", expected, found: algorithm })
}

function nothingCounted(keyBy: RuleSpec["keyBy"]): SluiceError {
  return new SluiceError("LOG_FORMAT_INVALID", {
    place: "log",
    expected: `must have requests that match and have the key ${JSON.stringify(keyBy)}`,
    found: "none",
  })
}
