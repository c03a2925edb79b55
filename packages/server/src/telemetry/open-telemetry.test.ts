import { context, metrics, trace } from "@opentelemetry/api"
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks"
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from "@opentelemetry/sdk-metrics"
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from "@opentelemetry/sdk-trace-base"
import { afterEach, beforeEach, expect, it } from "vitest"
import { deciding, degraded } from "./decisions.test-support.js"
import { createWatch, type WatchHub } from "./hub.js"

const RULES = `
version: 1
rules:
  - { id: api, keyBy: user, limits: [{ limit: 2, window: 1m, algorithm: fixed-window }] }
`

let spans: InMemorySpanExporter
let exporter: InMemoryMetricExporter
let provider: MeterProvider
let hub: WatchHub

beforeEach(async () => {
  spans = new InMemorySpanExporter()
  exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE)
  const reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 3_600_000 })
  provider = new MeterProvider({ readers: [reader] })
  trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(spans)] }))
  metrics.setGlobalMeterProvider(provider)
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
  hub = createWatch()
  await hub.export()
})

afterEach(async () => {
  hub.close()
  await provider.shutdown()
  trace.disable()
  metrics.disable()
  context.disable()
})

/** What was exported under a name: its attributes and values. */
async function exported(name: string) {
  await provider.forceFlush()
  const all =
    exporter
      .getMetrics()
      .at(-1)
      ?.scopeMetrics.flatMap((scope) => scope.metrics) ?? []
  return all.find(({ descriptor }) => descriptor.name === name)?.dataPoints ?? []
}

it("exports what each rule decided, and how long it took", async () => {
  const { decide } = deciding(RULES)
  for (let i = 0; i < 3; i++) hub.decided(decide({ user: "ann" }, 2))
  expect(await exported("sluice.decisions")).toMatchObject([
    { attributes: { "sluice.rule": "api", "sluice.decision": "allowed" }, value: 2 },
    { attributes: { "sluice.rule": "api", "sluice.decision": "denied" }, value: 1 },
    { attributes: { "sluice.rule": "api", "sluice.decision": "shadow-denied" }, value: 0 },
  ])
  const [durations] = await exported("sluice.decision.duration")
  expect(durations?.value).toMatchObject({ count: 3, sum: 0.006 })
})

it("creates a span for each decision, inside the active span, without the identity of the client", () => {
  const { decide } = deciding(RULES)
  const tracer = trace.getTracer("test")
  tracer.startActiveSpan("request", (request) => {
    hub.decided(decide({ user: "ann" }, 5))
    hub.decided(degraded(decide({ user: "ann" })))
    request.end()
  })
  const [plain, away, request] = spans.getFinishedSpans()
  expect(plain).toMatchObject({
    name: "sluice.check",
    attributes: { "sluice.rule": "api", "sluice.allowed": true, "sluice.reason": "within-limits" },
    status: { code: 0 },
  })
  expect(plain?.parentSpanContext?.spanId).toBe(request?.spanContext().spanId)
  expect(plain?.duration[1]).toBeGreaterThan(4.9e6)
  expect(away).toMatchObject({ attributes: { "sluice.degraded": "local" }, status: { code: 2 } })
  expect(JSON.stringify(spans.getFinishedSpans().map(({ attributes }) => attributes))).not.toContain("ann")
})

it("stops exporting once it is closed", async () => {
  const { decide } = deciding(RULES)
  hub.decided(decide({ user: "ann" }))
  hub.close()
  expect(await exported("sluice.decisions")).toEqual([])
})
