import type { ComponentChildren } from "preact"
import { compact, latency, share } from "../../browser/format.js"
import { t } from "../../browser/i18n.js"
import { overallSeries } from "../../service/traffic.js"
import { texts } from "./texts.js"

/** Rates are averages over this many seconds: a single second varies too much to be read. */
export const RATE_SECONDS = 10

/** The current rates and decision times. A dash where the service is not reachable. */
export function Figures() {
  const text = t(texts)
  const known = (field: Parameters<typeof overallSeries>[0]) =>
    overallSeries(field, RATE_SECONDS).filter((value) => value !== null)
  const allowed = rate(known("allowed"))
  const denied = rate(known("denied"))
  const all = (allowed ?? 0) + (denied ?? 0)
  const ofAll = (part: number | undefined) => (part === undefined ? "" : text.ofRequests(share(part, all)))
  const p50 = Math.max(0, ...known("p50Ms"))
  const p99 = Math.max(0, ...known("p99Ms"))
  return (
    <dl class="figures" aria-label={text.figures}>
      <Figure kind="allowed" label={text.allowed} note={ofAll(allowed)}>
        <Rate value={allowed} />
      </Figure>
      <Figure kind="denied" label={text.denied} note={ofAll(denied)}>
        <Rate value={denied} />
      </Figure>
      <Figure kind="shadow" label={text.shadow} note={text.wouldDeny}>
        <Rate value={rate(known("shadowDenied"))} />
      </Figure>
      <Figure kind="degraded" label={text.degraded} note={text.withoutStore}>
        <Rate value={rate(known("degraded"))} />
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

function Rate({ value }: { readonly value: number | undefined }) {
  if (value === undefined) return <>–</>
  return (
    <>
      {compact(value)}
      <small>{t(texts).perSecond}</small>
    </>
  )
}

function rate(counts: readonly number[]): number | undefined {
  return counts.length === 0 ? undefined : counts.reduce((sum, count) => sum + count, 0) / counts.length
}
