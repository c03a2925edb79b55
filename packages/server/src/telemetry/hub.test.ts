import { memoryStore } from "sluice"
import { StoreFailure } from "sluice/redis"
import { objectRules } from "sluice/rules"
import { afterEach, describe, expect, it } from "vitest"
import { deciding, degraded, metric } from "./decisions.test-support.js"
import type { WatchEvent } from "./events.js"
import { createWatch, type WatchHub, type WatchOptions } from "./hub.js"

const RULES = `
version: 1
deny: ["user:mallory"]
rules:
  - { id: api, keyBy: user, match: { path: /api/** }, limits: [{ limit: 3, window: 1m, algorithm: fixed-window }] }
  - { id: login, match: { path: /login }, limits: [{ limit: 1, window: 1m }], mode: shadow }
`

const open: WatchHub[] = []

function watch(options: WatchOptions = {}): WatchHub {
  const hub = createWatch(options)
  open.push(hub)
  return hub
}

afterEach(() => {
  for (const hub of open.splice(0)) hub.close()
})

const ann = { path: "/api/x", user: "ann", ip: "203.0.113.1" }

describe("metrics", () => {
  it("count what each rule allowed, denied, denied in shadow mode and decided without the store", () => {
    const { decide } = deciding(RULES)
    const hub = watch()
    for (let i = 0; i < 5; i++) hub.decided(decide(ann))
    for (let i = 0; i < 3; i++) hub.decided(decide({ path: "/login", ip: "203.0.113.1" }))
    hub.decided(degraded(decide({ ...ann, user: "bob" })))
    hub.decided(decide({ ...ann, user: "mallory" }))
    const text = hub.metrics()
    expect(metric(text, 'sluice_allowed_total{rule="api"}')).toBe(4)
    expect(metric(text, 'sluice_denied_total{rule="api"}')).toBe(2)
    expect(metric(text, 'sluice_shadow_denied_total{rule="login"}')).toBe(2)
    expect(metric(text, 'sluice_degraded_total{rule="api"}')).toBe(1)
    expect(metric(text, 'sluice_denied_total{rule="_none"}')).toBe(1)
    expect(metric(text, 'sluice_allowed_total{rule="_none"}')).toBe(3)
    expect(metric(text, 'sluice_requests_total{protocol="http",decision="denied"}')).toBe(3)
  })

  it("count each block that a penalty began once, by rule and limit, also those of workers", () => {
    const { decide, clock } = deciding(`
version: 1
rules:
  - { id: api, keyBy: user, limits: [{ name: tries, limit: 1, window: 1h, penalty: { after: 2, within: 1m, block: 1.5s } }] }
`)
    const events: WatchEvent[] = []
    const hub = watch()
    const worker = watch()
    worker.reportTo((report) => hub.absorb(1, structuredClone(report)))
    hub.subscribe((event) => events.push(event))
    clock.advance(0.25)
    for (const user of ["ann", "bob"]) for (let i = 0; i < 5; i++) hub.decided(decide({ ...ann, user }))
    for (let i = 0; i < 5; i++) worker.decided(decide({ ...ann, user: "cid" }))
    worker.tick()
    hub.tick()
    hub.tick()
    const name = 'sluice_blocks_begun_total{rule="api",limit="tries"}'
    expect(metric(hub.metrics(), name)).toBe(3)
    const blocks = events.filter(({ type }) => type === "blocks")
    const block = { rule: "api", limit: "tries", denials: 2, earlier: 0, blockedForMs: 1_500 }
    const blockedUntil = Math.ceil(clock.now() + 1_500)
    expect(blocks).toMatchObject([
      {
        total: 3,
        blocks: ["ann", "bob", "cid"].map((user) => ({ ...block, key: `user:${user}`, blockedUntil })),
      },
    ])
  })

  it("count a denial for the rule that denied, not for those that had room", () => {
    const { decide } = deciding(`
version: 1
rules:
  - { id: wide, limits: [{ limit: 100, window: 1m }] }
  - { id: narrow, limits: [{ limit: 1, window: 1m }] }
`)
    const hub = watch()
    for (let i = 0; i < 3; i++) hub.decided(decide(ann))
    const text = hub.metrics()
    expect(metric(text, 'sluice_allowed_total{rule="wide"}')).toBe(1)
    expect(metric(text, 'sluice_denied_total{rule="wide"}')).toBe(0)
    expect(metric(text, 'sluice_denied_total{rule="narrow"}')).toBe(2)
  })

  it("count a request of a blocked key as denied, once", async () => {
    const { decide, engine } = deciding(RULES)
    const hub = watch()
    for (let i = 0; i < 3; i++) decide(ann)
    await engine.blockKey("api", "user:ann", "1m")
    hub.decided(decide(ann))
    expect(metric(hub.metrics(), 'sluice_denied_total{rule="api"}')).toBe(1)
  })

  it("count requests that leave less than a fifth of a limit", () => {
    const { decide } = deciding(RULES)
    const hub = watch()
    for (let i = 0; i < 3; i++) hub.decided(decide(ann))
    expect(metric(hub.metrics(), 'sluice_near_limit_total{rule="api"}')).toBe(1)
  })

  it("put durations into buckets that add up", () => {
    const { decide } = deciding(RULES)
    const hub = watch()
    for (const ms of [0.005, 0.02, 0.02, 3, 5_000]) hub.decided(decide(ann, ms))
    const text = hub.metrics()
    expect(metric(text, 'sluice_decision_duration_seconds_bucket{le="0.000005"}')).toBe(1)
    expect(metric(text, 'sluice_decision_duration_seconds_bucket{le="0.000025"}')).toBe(3)
    expect(metric(text, 'sluice_decision_duration_seconds_bucket{le="0.005"}')).toBe(4)
    expect(metric(text, 'sluice_decision_duration_seconds_bucket{le="+Inf"}')).toBe(5)
    expect(metric(text, "sluice_decision_duration_seconds_count")).toBe(5)
    expect(metric(text, "sluice_decision_duration_seconds_sum")).toBeCloseTo(5.003045)
  })

  it("have one series for all rules beyond the cap", () => {
    const rules = Array.from(
      { length: 5 },
      (_, i) => `  - { id: r${i}, match: { path: /${i} }, limits: [{ limit: 9, window: 1m }] }`,
    )
    const { decide } = deciding(`version: 1\nrules:\n${rules.join("\n")}\n`)
    const hub = watch({ maxRules: 2 })
    for (let i = 0; i < 5; i++) hub.decided(decide({ path: `/${i}`, ip: "203.0.113.1" }))
    const text = hub.metrics()
    expect(text.match(/^sluice_allowed_total\{/gm)).toHaveLength(3)
    expect(metric(text, 'sluice_allowed_total{rule="_other"}')).toBe(3)
  })

  it("count decisions without a rule that are reported as a sum", () => {
    const hub = watch()
    hub.counted({ protocol: "resp", allowed: 5, denied: 2, degraded: 1 })
    hub.counted({ protocol: "resp", allowed: 1, denied: 0, degraded: 0 })
    const text = hub.metrics()
    expect(metric(text, 'sluice_allowed_total{rule="_none"}')).toBe(6)
    expect(metric(text, 'sluice_denied_total{rule="_none"}')).toBe(2)
    expect(metric(text, 'sluice_degraded_total{rule="_none"}')).toBe(1)
  })

  it("and live events include decisions without a rule that are reported as a sum", () => {
    const hub = watch()
    const events: WatchEvent[] = []
    hub.subscribe((event) => events.push(event))
    hub.counted({ protocol: "resp", allowed: 7, denied: 3, degraded: 1 })
    hub.tick()
    const text = hub.metrics()
    expect(metric(text, 'sluice_requests_total{protocol="resp",decision="denied"}')).toBe(3)
    expect(metric(text, 'sluice_allowed_total{rule="_none"}')).toBe(7)
    expect(events).toMatchObject([
      { rules: [{ id: "_none", allowed: 7, denied: 3 }], durations: { count: 0, meanMs: 0 } },
    ])
  })

  it("leave out peeks", () => {
    const { decide } = deciding(RULES)
    const hub = watch()
    hub.decided({ ...decide(ann), cost: 0 })
    expect(hub.metrics()).not.toContain('rule="api"')
  })

  it("include the store and the rules", async () => {
    const store = memoryStore({ maxKeys: 10 })
    const rules = objectRules({ version: 1, rules: [] })
    const hub = watch({ version: "1.2.3" })
    hub.attach({ store, rules })
    hub.storeFailed({
      operation: "check",
      failure: new StoreFailure("timeout", "late", { ambiguous: true }),
      instead: "local",
    })
    const text = hub.metrics()
    expect(metric(text, "sluice_store_keys")).toBe(0)
    expect(metric(text, 'sluice_store_failures_total{kind="timeout"}')).toBe(1)
    expect(metric(text, "sluice_store_ambiguous_total")).toBe(1)
    expect(metric(text, "sluice_rules_revision")).toBe(1)
    expect(metric(text, "sluice_rules_stale")).toBe(0)
    expect(metric(text, 'sluice_info{version="1.2.3"}')).toBe(1)
    expect(metric(text, "process_resident_memory_bytes")).toBeGreaterThan(1e6)
    await store.close()
  })

  it("are text that Prometheus can read: each metric described once, and before its samples", () => {
    const { decide } = deciding(RULES)
    const hub = watch()
    hub.attach({ store: memoryStore(), rules: objectRules({ version: 1, rules: [] }) })
    hub.decided(decide(ann))
    const described = new Set<string>()
    for (const line of hub.metrics().trimEnd().split("\n")) {
      if (line.startsWith("# HELP")) continue
      const type = /^# TYPE (\w+) (?:counter|gauge|histogram)$/.exec(line)?.[1]
      if (type !== undefined) {
        expect(described).not.toContain(type)
        described.add(type)
        continue
      }
      const name =
        /^(\w+?)(?:_bucket|_sum|_count)?(?:\{\w+="[^"\n]*"(?:,\w+="[^"\n]*")*\})? [-+.\deInf]+$/.exec(line)
      expect(name, line).not.toBeNull()
      expect(
        [...described].some((known) => line.startsWith(known)),
        line,
      ).toBe(true)
    }
  })
})

describe("live events", () => {
  it("sum up each second, and skip a second without decisions", () => {
    const { decide, clock } = deciding(RULES)
    const hub = watch({ clock })
    const events: WatchEvent[] = []
    const stop = hub.subscribe((event) => events.push(event))
    hub.tick()
    for (let i = 0; i < 4; i++) hub.decided(decide(ann))
    hub.metrics()
    hub.tick()
    expect(events).toEqual([
      {
        type: "decisions",
        at: clock.now(),
        requests: { allowed: 3, denied: 1 },
        rules: [{ id: "api", allowed: 3, denied: 1, shadowDenied: 0, degraded: 0 }],
        durations: { count: 4, meanMs: 0.02, p50Ms: 0.025, p99Ms: 0.025 },
      },
    ])
    stop()
    hub.decided(decide(ann))
    hub.tick()
    expect(events).toHaveLength(1)
  })

  it("report new rules at once", async () => {
    const rules = objectRules({ version: 1, rules: [] })
    const hub = watch()
    hub.attach({ rules })
    const events: WatchEvent[] = []
    hub.subscribe((event) => events.push(event))
    await rules.save({ version: 1, rules: [{ id: "a", limits: "unlimited" }] }, { by: "ann" })
    expect(events).toMatchObject([{ type: "rules", revision: 2 }])
  })

  it("report a breaker that opens", () => {
    const breakers = ["closed", "closed"]
    const hub = watch()
    hub.attach({ store: Object.assign(memoryStore(), { breakers }) })
    const events: WatchEvent[] = []
    hub.subscribe((event) => events.push(event))
    hub.tick()
    breakers[1] = "open"
    hub.tick()
    hub.tick()
    expect(events).toMatchObject([{ type: "store", breakers: { closed: 1, open: 1, "half-open": 0 } }])
    expect(metric(hub.metrics(), 'sluice_store_breakers{state="open"}')).toBe(1)
  })

  it("report a store that fails, once a second", () => {
    const hub = watch()
    const events: WatchEvent[] = []
    hub.subscribe((event) => events.push(event))
    hub.tick()
    for (let i = 0; i < 3; i++)
      hub.storeFailed({
        operation: "check",
        failure: new StoreFailure("connection", "refused"),
        instead: "local",
      })
    hub.tick()
    expect(events).toMatchObject([{ type: "store", failures: { connection: 3 } }])
  })
})

describe("top", () => {
  it("names the keys denied and allowed most often", () => {
    const { decide } = deciding(RULES)
    const hub = watch()
    for (let i = 0; i < 8; i++) hub.decided(decide(ann))
    for (let i = 0; i < 2; i++) hub.decided(decide({ ...ann, user: "bob" }))
    expect(hub.top({ by: "denied", limit: 5 })).toEqual([
      { rule: "api", key: "user:ann", count: 5, error: 0 },
    ])
    expect(hub.top({ by: "used", limit: 1 })).toEqual([{ rule: "api", key: "user:ann", count: 3, error: 0 }])
  })
})

it("sums the reports of all workers, each second once", () => {
  const { decide } = deciding(RULES)
  const primary = watch({ workers: 2 })
  const workers = [watch(), watch()]
  for (const [i, worker] of workers.entries())
    worker.reportTo((report) => primary.absorb(i, structuredClone(report)))
  for (let second = 0; second < 2; second++) {
    for (const worker of workers) {
      for (let i = 0; i < 2; i++) worker.decided(decide(ann))
      worker.storeFailed({
        operation: "check",
        failure: new StoreFailure("timeout", "late"),
        instead: "local",
      })
      worker.tick()
    }
    primary.tick()
  }
  const text = primary.metrics()
  expect(metric(text, 'sluice_allowed_total{rule="api"}')).toBe(3)
  expect(metric(text, 'sluice_denied_total{rule="api"}')).toBe(5)
  expect(metric(text, 'sluice_store_failures_total{kind="timeout"}')).toBe(4)
  expect(metric(text, "sluice_decision_duration_seconds_count")).toBe(8)
  expect(primary.top({ by: "denied" })).toEqual([{ rule: "api", key: "user:ann", count: 5, error: 0 }])
  expect(workers[0]?.top({ by: "denied" })).toEqual([])
})
