import { ago, span, waitText, whole } from "../../browser/format.js"
import { t } from "../../browser/i18n.js"
import { href } from "../../browser/router.js"
import { Badge } from "../../parts/badge.js"
import { Bar } from "../../parts/bar.js"
import { Chart, type ChartSeries } from "../../parts/chart/chart.js"
import { Failure, Loading } from "../../parts/empty.js"
import { Icon } from "../../parts/icon.js"
import { PageHead, Panel } from "../../parts/panel.js"
import { KeyActions } from "./key-actions.js"
import { type KeyState, type LimitState, SAMPLES, type Sample, useKey } from "./key-state.js"
import { Overrides } from "./overrides.js"
import { texts } from "./texts.js"

const COLOURS = ["--accent", "--shadow", "--degraded", "--allowed"] as const
const percent = (value: number) => `${Math.round(value * 100)}%`

/** One key of one rule: what it has used, now and over time, and actions on it. */
export function KeyPage({ rule, name }: { readonly rule: string; readonly name: string }) {
  const text = t(texts)
  const { state, samples, problem, show } = useKey(rule, name)
  return (
    <>
      <p class="back">
        <a href={href("clients")}>
          <Icon name="chevron" />
          {text.back}
        </a>
      </p>
      <PageHead title={name} lead={`${text.rule}: ${rule}`}>
        {state && <KeyActions state={state} onAnswer={show} />}
      </PageHead>
      {state === undefined ? (
        problem === undefined ? (
          <Loading />
        ) : (
          <Failure problem={problem} onRetry={() => location.reload()} />
        )
      ) : (
        <div class="clients-key">
          <Panel title={text.state} note={<Verdict state={state} />}>
            <BlockByHand state={state} />
            <Limits state={state} />
          </Panel>
          {state.limits.length > 0 && (
            <Panel title={text.overTime} note={text.watching}>
              <Chart
                label={text.overTime}
                untitled
                x={samples.map(({ at }) => at)}
                series={seriesOf(state.limits, samples)}
                follow={shownSeconds(samples)}
                height={180}
                format={percent}
              />
            </Panel>
          )}
          <Overrides rule={rule} name={name} />
        </div>
      )}
    </>
  )
}

/** The time that the chart shows: whole minutes, so that a short series does not sit at the edge of an empty chart. */
function shownSeconds(samples: readonly Sample[]): number {
  const [first] = samples
  const seconds = first === undefined ? 0 : (samples.at(-1)?.at ?? 0) - first.at
  return Math.min(SAMPLES, 60 * (1 + Math.floor(seconds / 60)))
}

function seriesOf(limits: readonly LimitState[], samples: readonly Sample[]): ChartSeries[] {
  return limits.map(({ name }, i) => ({
    label: name,
    colour: COLOURS[i % COLOURS.length] ?? "--accent",
    shape: "steps",
    values: samples.map(({ used }) => used[name] ?? null),
  }))
}

function Verdict({ state }: { readonly state: KeyState }) {
  const text = t(texts)
  const { allowed, blockedForMs, mode, degraded } = state
  return (
    <span class="verdict" role="status">
      {blockedForMs !== undefined ? (
        <>
          <Badge kind="denied">{text.blocked}</Badge> {text.blockedFor(span(blockedForMs, "up"))}
        </>
      ) : (
        <Badge kind={allowed ? "allowed" : "denied"}>{allowed ? text.allowed : text.full}</Badge>
      )}
      {mode === "shadow" && <Badge kind="shadow">{text.shadow}</Badge>}
      {degraded !== undefined && <Badge kind="degraded">{text.degraded}</Badge>}
    </span>
  )
}

/** Since when and for how long somebody has blocked the key. */
function BlockByHand({ state: { block, limits } }: { readonly state: KeyState }) {
  const [limit] = limits
  if (block === undefined || limit === undefined || limit.resetAfterMs === "never") return null
  // By the clock of the service, which may differ from that of the browser.
  const now = limit.resetAt - limit.resetAfterMs
  const since = ago(Math.max(0, now - block.blockedSince))
  return (
    <p class="soft">{t(texts).blockedByHand(since, span(Math.max(0, block.blockedUntil - now), "up"))}</p>
  )
}

function Limits({ state: { limits } }: { readonly state: KeyState }) {
  const text = t(texts)
  if (limits.length === 0) return <p class="soft">{text.noLimits}</p>
  return (
    <ul class="limits">
      {limits.map((limit) => (
        <Limit key={limit.name} limit={limit} />
      ))}
    </ul>
  )
}

function Limit({ limit: state }: { readonly limit: LimitState }) {
  const text = t(texts)
  const { name, limit, remaining, resetAfterMs, windowMs } = state
  if (limit === null || remaining === null) return null
  const used = state.used ?? limit - remaining
  const usedText = text.usedOf(whole(used), whole(limit))
  return (
    <li>
      <span class="limit-name">{name}</span>
      <Bar
        kind={remaining === 0 ? "denied" : used / limit > 0.8 ? "degraded" : "allowed"}
        max={limit}
        value={used}
        label={`${name}: ${usedText}`}
      />
      <span class="limit-numbers">
        <b>{usedText}</b>
        <span class="soft">
          {text.left(whole(remaining))} ·{" "}
          {resetAfterMs === 0 || resetAfterMs === "never"
            ? text.fresh
            : text.resets(span(resetAfterMs, "up"))}{" "}
          · {text.window(waitText(windowMs))}
        </span>
      </span>
      <ChargeTimes limit={state} />
      <Penalty limit={state} />
    </li>
  )
}

/** Why a penalty of the limit blocks the key, or how near it is to that. */
function Penalty({ limit: { penalty, resetAt, resetAfterMs } }: { readonly limit: LimitState }) {
  const text = t(texts)
  if (penalty === undefined || resetAfterMs === "never") return null
  const { blockedSince, denials, blocks } = penalty
  if (blockedSince === undefined) return <p class="limit-detail soft">{text.denials(denials, blocks)}</p>
  // By the clock of the service, which may differ from that of the browser.
  const since = ago(Math.max(0, resetAt - resetAfterMs - blockedSince))
  return <p class="limit-detail soft">{text.penalized(since, blocks)}</p>
}

/** As many buckets as fit a line or two. */
const MAX_BUCKETS = 12

/** When the units were charged, as far as the algorithm keeps that. */
function ChargeTimes({ limit }: { readonly limit: LimitState }) {
  const text = t(texts)
  const { oldestAt, newestAt, buckets = [], resetAt, resetAfterMs } = limit
  if (resetAfterMs === "never") return null
  // By the clock of the service, which may differ from that of the browser.
  const since = (ms: number) => ago(Math.max(0, resetAt - resetAfterMs - ms))
  if (oldestAt !== undefined && newestAt !== undefined)
    return <p class="limit-detail soft">{text.charges(since(oldestAt), since(newestAt))}</p>
  const [newest] = buckets
  if (newest === undefined) return null
  const shown = buckets.slice(0, MAX_BUCKETS).map(({ units }) => whole(units))
  if (buckets.length > MAX_BUCKETS) shown.push("…")
  return <p class="limit-detail soft">{text.buckets(waitText(newest.lengthMs), shown.join(", "))}</p>
}
