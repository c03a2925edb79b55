import { expect, it } from "vitest"
import { deciding, degraded, metric } from "./decisions.test-support.js"
import { createWatch } from "./hub.js"
import { WindowUnits } from "./window-units.js"

const RULES = `
version: 1
rules:
  - id: api
    keyBy: user
    limits: [{ name: minute, limit: 30, window: 1m }, { name: hour, limit: 300, window: 1h }]
`
const by = (user: string) => ({ path: "/", user })

function totals(units: WindowUnits) {
  return [...units.histograms()].map(({ rule, limit, histogram }) => [
    rule,
    limit,
    histogram.count,
    histogram.sum,
  ])
}

it("counts every key once a second, with its last usage of each limit", () => {
  const { decide } = deciding(RULES)
  const units = new WindowUnits()
  for (const user of ["ann", "ann", "ann", "bob"]) units.decided(decide(by(user)).decision)
  expect(totals(units)).toEqual([])
  units.take()
  expect(totals(units)).toEqual([
    ["api", "minute", 2, 4],
    ["api", "hour", 2, 4],
  ])
  units.take()
  units.decided(decide(by("ann")).decision)
  units.take()
  expect(totals(units)[0]).toEqual(["api", "minute", 3, 8])
})

it("samples one of 64 decisions of a busy second", () => {
  const { decide } = deciding(RULES)
  const units = new WindowUnits()
  for (let i = 0; i < 640; i++) units.decided(decide(by(`user-${i}`)).decision)
  units.take()
  expect(totals(units)[0]).toEqual(["api", "minute", 64 + 9, 64 + 9])
})

it("leaves out decisions that were made without the store", () => {
  const { decide } = deciding(RULES)
  const units = new WindowUnits()
  units.decided(degraded(decide(by("ann"))).decision)
  expect(units.take()).toEqual([])
})

it("is a metric of each limit, added up over workers", () => {
  const { decide } = deciding(RULES)
  const hub = createWatch()
  const worker = createWatch()
  worker.reportTo((report) => hub.absorb(1, structuredClone(report)))
  for (let i = 0; i < 3; i++) worker.decided(decide(by("ann")))
  worker.tick()
  hub.decided(decide(by("bob")))
  hub.tick()
  const text = hub.metrics()
  const labels = 'rule="api",limit="minute"'
  expect(metric(text, `sluice_window_units_bucket{${labels},le="1"}`)).toBe(1)
  expect(metric(text, `sluice_window_units_bucket{${labels},le="5"}`)).toBe(2)
  expect(metric(text, `sluice_window_units_sum{${labels}}`)).toBe(4)
  expect(metric(text, `sluice_window_units_count{${labels}}`)).toBe(2)
  worker.close()
  hub.close()
})
