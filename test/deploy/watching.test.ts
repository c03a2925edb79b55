// The dashboard and the alerts against what the service really prints.

import { beforeAll, describe, expect, it } from "vitest"
import type { FailureKind } from "../../packages/sluice/src/stores/fallback/store-failure.js"
import { deployText, deployYaml } from "./deploy-files.js"
import { type PrintedMetrics, printedMetrics } from "./printed-metrics.js"
import { readQuery } from "./promql.js"

interface Alert {
  readonly alert: string
  readonly expr: string
  readonly for?: string
  readonly labels: { readonly severity: string }
  readonly annotations: { readonly summary: string; readonly description: string }
}

interface Panel {
  readonly id: number
  readonly type: string
  readonly title: string
  readonly description?: string
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number }
  readonly targets?: readonly { readonly expr: string; readonly legendFormat: string }[]
}

interface Dashboard {
  readonly panels: readonly Panel[]
  readonly templating: { readonly list: readonly { readonly name: string; readonly definition?: string }[] }
  readonly annotations: { readonly list: readonly { readonly expr: string }[] }
}

const alerts = deployYaml<{ groups: { rules: Alert[] }[] }>("prometheus/alerts.yaml").groups.flatMap(
  ({ rules }) => rules,
)
const dashboard: Dashboard = JSON.parse(deployText("grafana/dashboard.json"))
const queries: (readonly [string, string])[] = [
  ...alerts.map(({ alert, expr }) => [alert, expr] as const),
  ...dashboard.panels.flatMap(({ title, targets = [] }) => targets.map(({ expr }) => [title, expr] as const)),
  ...dashboard.annotations.list.map(({ expr }) => ["annotation", expr] as const),
]
/** Prometheus adds these to whatever it scrapes, and has a metric of its own about that. */
const OF_PROMETHEUS = { labels: ["job", "instance"], metric: "up" }

/** Typed, so that a kind which is renamed does not compile here. */
const REFUSALS = new Set<FailureKind>([
  "out-of-memory",
  "no-auth",
  "no-permission",
  "wrong-type",
  "not-writable",
])

let printed: PrintedMetrics
beforeAll(async () => {
  printed = await printedMetrics()
})

describe.each(queries)("%s: %s", (_, expression) => {
  it("uses only metrics and labels that the service exports", () => {
    const { metrics, matchers, groupings } = readQuery(expression)
    expect(metrics.filter((name) => name !== OF_PROMETHEUS.metric && !printed.samples.has(name))).toEqual([])
    const known = new Set(OF_PROMETHEUS.labels)
    for (const name of metrics) for (const label of printed.samples.get(name)?.keys() ?? []) known.add(label)
    expect(groupings.filter((label) => !known.has(label))).toEqual([])
    for (const { metric, label } of matchers)
      if (!OF_PROMETHEUS.labels.includes(label))
        expect(printed.samples.get(metric)?.has(label), label).toBe(true)
  })

  it("takes the rate of counters, and of nothing else", () => {
    const rated = [...expression.matchAll(/\brate\((\w+)/g)].map(([, name]) => name as string)
    const { metrics } = readQuery(expression)
    const isCounter = (name: string) =>
      printed.types.get(name) === "counter" ||
      printed.types.get(name.replace(/_(bucket|sum|count)$/, "")) === "histogram"
    expect(rated.filter((name) => !isCounter(name))).toEqual([])
    // A counter without rate() only shows how long ago the service started.
    const compared = [...expression.matchAll(/(\w+_total) >/g)].map(([, name]) => name as string)
    expect(metrics.filter((n) => isCounter(n) && !rated.includes(n) && !compared.includes(n))).toEqual([])
  })
})

it("shows every metric of the service on the Grafana dashboard", () => {
  const shown = new Set(
    dashboard.panels.flatMap(({ targets = [] }) => targets.flatMap(({ expr }) => readQuery(expr).metrics)),
  )
  const missing = [...printed.types.keys()].filter(
    (name) => ![...shown].some((metric) => metric.startsWith(name)),
  )
  // The number of rules is in the list of rules; the ratio since the start is drawn as a rate.
  expect(missing).toEqual(["sluice_rules_count", "sluice_accuracy_differing_ratio"])
})

it("names states of breakers and kinds of failures that exist", () => {
  const values = (metric: string, label: string) =>
    queries.flatMap(([, expression]) =>
      readQuery(expression)
        .matchers.filter((matcher) => matcher.metric === metric && matcher.label === label)
        .flatMap(({ value }) => value.split("|")),
    )
  expect([...(printed.samples.get("sluice_store_breakers")?.get("state") ?? [])]).toEqual(
    expect.arrayContaining(values("sluice_store_breakers", "state")),
  )
  expect(new Set(values("sluice_store_failures_total", "kind"))).toEqual(REFUSALS)
  expect(printed.samples.get("sluice_requests_total")?.get("decision")).toContain("denied")
})

it("gives every alert a severity, a summary and what to do", () => {
  for (const { alert, labels, annotations } of alerts) {
    expect(["page", "ticket"], alert).toContain(labels.severity)
    expect(annotations.summary.length * annotations.description.length, alert).toBeGreaterThan(0)
  }
  expect(new Set(alerts.map(({ alert }) => alert)).size).toBe(alerts.length)
})

it("uses in an alert's text only labels that its expression leaves", () => {
  for (const { alert, expr, annotations } of alerts) {
    const { groupings } = readQuery(expr)
    const left = groupings.length > 0 ? groupings : OF_PROMETHEUS.labels
    const used = [...JSON.stringify(annotations).matchAll(/\$labels\.(\w+)/g)].map(
      ([, label]) => label as string,
    )
    expect(
      used.filter((label) => !left.includes(label)),
      alert,
    ).toEqual([])
  }
})

it("has a description on every panel, and no panels that overlap", () => {
  const taken = new Set<string>()
  for (const { title, type, description, gridPos } of dashboard.panels) {
    if (type !== "row") expect(description, title).toBeTruthy()
    for (let x = gridPos.x; x < gridPos.x + gridPos.w; x++)
      for (let y = gridPos.y; y < gridPos.y + gridPos.h; y++) {
        expect(taken.has(`${x},${y}`), title).toBe(false)
        taken.add(`${x},${y}`)
      }
    expect(gridPos.x + gridPos.w, title).toBeLessThanOrEqual(24)
  }
  expect(new Set(dashboard.panels.map(({ id }) => id)).size).toBe(dashboard.panels.length)
})

it("defines every variable that a panel uses", () => {
  const names = dashboard.templating.list.map(({ name }) => name)
  const used = [...deployText("grafana/dashboard.json").matchAll(/\$\{?(\w+)/g)].map(
    ([, name]) => name as string,
  )
  const ofGrafana = ["__rate_interval", "__all"]
  expect([...new Set(used)].filter((name) => !names.includes(name) && !ofGrafana.includes(name))).toEqual([])
})
