// Exports metrics and spans through the API package of OpenTelemetry, to the SDK that the process was started with. Without an
// SDK they are dropped.

import { SluiceError } from "sluice"
import type { Decided } from "../core.js"
import type { RuleTally } from "./tally.js"

/** Reads the current values to export. */
export interface Counts {
  readonly rules: Iterable<readonly [id: string, tally: RuleTally]>
  readonly failures: Iterable<readonly [kind: string, count: number]>
  readonly keys: number | undefined
}

export interface Telemetry {
  decided(event: Decided): void
  close(): void
}

/** Needs the package @opentelemetry/api. Each decision costs the SDK's time for a span and a histogram. */
export async function openTelemetry(counts: () => Counts, version: string): Promise<Telemetry> {
  const { metrics, trace, SpanStatusCode } = await load()
  const meter = metrics.getMeter("sluice", version)
  const tracer = trace.getTracer("sluice", version)
  const duration = meter.createHistogram("sluice.decision.duration", {
    unit: "s",
    description: "How long a decision took.",
    advice: { explicitBucketBoundaries: [0.000_01, 0.000_1, 0.000_5, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5] },
  })
  const decisions = meter.createObservableCounter("sluice.decisions", { description: "Decisions by rule." })
  const degraded = meter.createObservableCounter("sluice.degraded", {
    description: "Decisions that were made without the store, because it failed.",
  })
  const failures = meter.createObservableCounter("sluice.store.failures", {
    description: "Failed calls to the store, by kind of failure.",
  })
  const keys = meter.createObservableGauge("sluice.store.keys", { description: "Keys in the memory store." })
  const observed = [decisions, degraded, failures, keys]
  const observe = (result: Parameters<Parameters<typeof meter.addBatchObservableCallback>[0]>[0]) => {
    const now = counts()
    for (const [rule, tally] of now.rules) {
      result.observe(decisions, tally.allowed, { "sluice.rule": rule, "sluice.decision": "allowed" })
      result.observe(decisions, tally.denied, { "sluice.rule": rule, "sluice.decision": "denied" })
      result.observe(decisions, tally.shadowDenied, {
        "sluice.rule": rule,
        "sluice.decision": "shadow-denied",
      })
      result.observe(degraded, tally.degraded, { "sluice.rule": rule })
    }
    for (const [kind, count] of now.failures) result.observe(failures, count, { "sluice.failure": kind })
    if (now.keys !== undefined) result.observe(keys, now.keys)
  }
  meter.addBatchObservableCallback(observe, observed)
  return {
    decided({ decision, protocol, durationMs }) {
      duration.record(durationMs / 1000, { "sluice.protocol": protocol })
      const endTime = performance.timeOrigin + performance.now()
      const span = tracer.startSpan("sluice.check", { startTime: endTime - durationMs })
      if (span.isRecording()) {
        // Without the key, which identifies the client.
        span.setAttributes({
          "sluice.protocol": protocol,
          "sluice.allowed": decision.allowed,
          "sluice.reason": decision.reason,
          "sluice.revision": decision.revision,
          ...(decision.rule === undefined ? {} : { "sluice.rule": decision.rule }),
          ...(decision.degraded === undefined ? {} : { "sluice.degraded": decision.degraded }),
        })
        // A denial is a normal answer. Only a store that did not answer is an error.
        if (decision.degraded !== undefined)
          span.setStatus({ code: SpanStatusCode.ERROR, message: "the store did not answer" })
      }
      span.end(endTime)
    },
    close: () => meter.removeBatchObservableCallback(observe, observed),
  }
}

async function load() {
  try {
    return await import("@opentelemetry/api")
  } catch (cause) {
    throw new SluiceError("CLIENT_MISSING", {
      place: "openTelemetry",
      expected: "needs the package @opentelemetry/api: npm install @opentelemetry/api",
      cause,
    })
  }
}
