// What the metrics endpoint of a real service prints: one on the memory store, one whose Redis is away, and one with a gateway
// whose upstream is away, because each has metrics that the others lack.

import { parseRuleSet } from "sluice/rules"
import { type ConfigInput, configSchema } from "../../packages/server/src/config/schema.js"
import { startService } from "../../packages/server/src/service/service.js"
import { eventually } from "../support/eventually.js"
import { reservePort } from "../support/ports.js"

export interface PrintedMetrics {
  /** Every name of a sample, with the labels it has and their values. */
  readonly samples: ReadonlyMap<string, ReadonlyMap<string, ReadonlySet<string>>>
  /** As `# TYPE` has it: a histogram is one name here and three in the samples. */
  readonly types: ReadonlyMap<string, string>
}

const ON_FREE_PORTS: ConfigInput = {
  http: { port: 0 },
  grpc: { enabled: false },
  control: { port: 0, open: true },
  log: { level: "silent" },
  // A fleet whose Redis is away cannot ask it for the secret.
  secret: "for tests",
}

/** Only rules with leases, holds and penalties have the service count what becomes of them. */
const LEASED_AND_HELD = parseRuleSet(`
version: 1
rules:
  - { id: all, leases: true, limits: [{ limit: 100, window: 1m }] }
  - { id: held, limits: [{ algorithm: concurrency, limit: 100000, hold: 1m }] }
  - { id: strict, limits: [{ limit: 3, window: 1h, penalty: { after: 1, within: 1m, block: 1h } }] }
`)

export async function printedMetrics(): Promise<PrintedMetrics> {
  const nobody = await reservePort()
  try {
    const texts = [
      await metricsOf({ ...ON_FREE_PORTS }, "sluice_window_units_bucket{"),
      await metricsOf(
        {
          ...ON_FREE_PORTS,
          store: { url: `redis://127.0.0.1:${nobody.port}` },
          rules: { inline: LEASED_AND_HELD },
        },
        'sluice_store_failures_total{kind="breaker-open"}',
      ),
      await metricsOf(
        { ...ON_FREE_PORTS, gateway: gatewayTo(`http://127.0.0.1:${nobody.port}`) },
        "sluice_gateway_upstream_errors_total{",
      ),
    ]
    return readMetrics(texts.join("\n"))
  } finally {
    await nobody.release()
  }
}

function gatewayTo(upstream: string): ConfigInput["gateway"] {
  return { enabled: true, port: 0, upstream: [upstream], accessLog: { format: "off" } }
}

/** Reads the metrics until they contain the awaited one. */
async function metricsOf(config: ConfigInput, awaited: string): Promise<string> {
  const service = await startService(configSchema.parse(config))
  const { http, control, gateway } = service.addresses
  const question = { method: "POST", path: "/login", ip: "203.0.113.7" }
  try {
    return await eventually(async () => {
      for (let i = 0; i < 10; i++)
        await fetch(`http://${http}/v1/check`, { method: "POST", body: JSON.stringify(question) })
      if (gateway !== undefined) await fetch(`http://${gateway}/`)
      const text = await (await fetch(`http://${control}/metrics`)).text()
      return text.includes(awaited) ? text : undefined
    })
  } finally {
    await service.close()
  }
}

export function readMetrics(text: string): PrintedMetrics {
  const samples = new Map<string, Map<string, Set<string>>>()
  const types = new Map<string, string>()
  for (const line of text.split("\n")) {
    const [, typed, type] = /^# TYPE (\S+) (\S+)$/.exec(line) ?? []
    if (typed !== undefined) types.set(typed, type as string)
    const [, name, inner = ""] = /^([a-z_]+)(?:\{(.*)\})? \S+$/.exec(line) ?? []
    if (name === undefined) continue
    const labels = samples.get(name) ?? new Map<string, Set<string>>()
    samples.set(name, labels)
    for (const [, label, value] of inner.matchAll(/(\w+)="([^"]*)"/g) as Iterable<[string, string, string]>)
      labels.set(label, (labels.get(label) ?? new Set()).add(value))
  }
  return { samples, types }
}
