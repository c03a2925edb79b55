import { signal } from "@preact/signals"
import { latency } from "../../browser/format.js"
import { t } from "../../browser/i18n.js"
import { keep, kept } from "../../browser/kept.js"
import { href } from "../../browser/router.js"
import { Chart } from "../../parts/chart/chart.js"
import { Panel } from "../../parts/panel.js"
import { Segmented } from "../../parts/segmented.js"
import { type Outcome, overallSeries, ruleSeries, secondsOf } from "../../service/traffic.js"
import { texts } from "./texts.js"

/** The spans of the charts, in minutes. */
const SPANS = ["1", "5", "15"] as const
const span = signal(kept("span", SPANS) ?? "5")

/** The last minutes of all requests, or of one rule. */
export function Charts({ rule }: { readonly rule: string | undefined }) {
  const text = t(texts)
  const count = Number(span.value) * 60
  const x = secondsOf(count)
  const series = (outcome: Outcome) =>
    rule === undefined ? overallSeries(outcome, count) : ruleSeries(rule, outcome, count)
  const title = rule === undefined ? text.requestsChart : text.ruleChart(rule)
  return (
    <>
      <Panel
        title={title}
        note={rule !== undefined && <a href={href("overview")}>{text.allRules}</a>}
        actions={
          <Segmented
            label={text.span}
            options={SPANS.map((value) => ({ value, text: text.spans[value] }))}
            value={span.value}
            onChange={(chosen) => {
              span.value = chosen
              keep("span", chosen)
            }}
          />
        }
      >
        <Chart
          label={title}
          untitled
          x={x}
          follow={count}
          sync="overview"
          height={220}
          stacked
          series={[
            { label: text.denied, colour: "--denied", values: series("denied") },
            { label: text.allowed, colour: "--allowed", values: series("allowed") },
          ]}
        />
      </Panel>
      <div class="overview-pair">
        <Panel title={text.otherChart}>
          <Chart
            label={text.otherChart}
            untitled
            x={x}
            follow={count}
            sync="overview"
            height={140}
            series={[
              { label: text.shadow, colour: "--shadow", values: series("shadowDenied") },
              { label: text.degraded, colour: "--degraded", values: series("degraded") },
            ]}
          />
        </Panel>
        <Panel title={text.latencyChart}>
          <Chart
            label={text.latencyChart}
            untitled
            x={x}
            follow={count}
            sync="overview"
            height={140}
            format={(ms) => (ms === 0 ? "0" : latency(ms))}
            series={[
              { label: text.p50Series, colour: "--accent", values: gaps(overallSeries("p50Ms", count)) },
              { label: text.p99Series, colour: "--degraded", values: gaps(overallSeries("p99Ms", count)) },
            ]}
          />
        </Panel>
      </div>
    </>
  )
}

/** A second without decisions has no decision time, so the line has a gap there. */
function gaps(values: readonly (number | null)[]): (number | null)[] {
  return values.map((value) => (value === 0 ? null : value))
}
