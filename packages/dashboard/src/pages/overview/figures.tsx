import type { ComponentChildren } from "preact"
import { compact, latency, share } from "../../browser/format.js"
import { t } from "../../browser/i18n.js"
import { overallSeries } from "../../service/traffic.js"
import { texts } from "./texts.js"

/** Seconds that a rate is taken over: one alone jumps too much to be read. */
export const RATE_SECONDS = 10

/** Where the service stands, in five numbers. */
export function Figures() {
  const text = t(texts)
  const allowed = rate(overallSeries("allowed", RATE_SECONDS))
  const denied = rate(overallSeries("denied", RATE_SECONDS))
  const shadow = rate(overallSeries("shadowDenied", RATE_SECONDS))
  const degraded = rate(overallSeries("degraded", RATE_SECONDS))
  const p50 = Math.max(...overallSeries("p50Ms", RATE_SECONDS))
  const p99 = Math.max(...overallSeries("p99Ms", RATE_SECONDS))
  const all = allowed + denied
  return (
    <dl class="figures" aria-label={text.figures}>
      <Figure kind="allowed" label={text.allowed} note={text.ofRequests(share(allowed, all))}>
        <Rate value={allowed} />
      </Figure>
      <Figure kind="denied" label={text.denied} note={text.ofRequests(share(denied, all))}>
        <Rate value={denied} />
      </Figure>
      <Figure kind="shadow" label={text.shadow} note={text.wouldDeny}>
        <Rate value={shadow} />
      </Figure>
      <Figure kind="degraded" label={text.degraded} note={text.withoutStore}>
        <Rate value={degraded} />
      </Figure>
      <Figure kind="accent" label={text.latency} note={text.p99(latency(p99))}>
        {latency(p50)}
      </Figure>
    </dl>
  )
}

interface FigureProps {
  readonly kind: string
  readonly label: string
  readonly note: string
  readonly children: ComponentChildren
}

function Figure({ kind, label, note, children }: FigureProps) {
  return (
    <div class={`figure ${kind}`}>
      <dt>{label}</dt>
      <dd class="value">{children}</dd>
      <dd class="note">{note}</dd>
    </div>
  )
}

function Rate({ value }: { readonly value: number }) {
  return (
    <>
      {compact(value)}
      <small>{t(texts).perSecond}</small>
    </>
  )
}

export function rate(counts: readonly number[]): number {
  return counts.reduce((sum, count) => sum + count, 0) / Math.max(1, counts.length)
}
