import { afterEach, expect, it } from "vitest"
import type { GatewayState } from "./gateway-metrics.js"
import { createWatch, type WatchHub } from "./hub.js"

const hubs: WatchHub[] = []

afterEach(() => {
  for (const hub of hubs.splice(0)) hub.close()
})

function open(state?: GatewayState): WatchHub {
  const hub = createWatch()
  hubs.push(hub)
  if (state !== undefined) hub.attach({ gateway: () => state })
  return hub
}

function target(name: string, isUp: boolean, active: number): GatewayState["targets"][number] {
  return { upstream: "u", target: `http://${name}`, isUp, active }
}

/** The samples of the gateway, buckets aside. */
function samples(hub: WatchHub): string[] {
  return hub
    .metrics()
    .split("\n")
    .filter((line) => line.startsWith("sluice_gateway_") && !line.includes("_bucket"))
}

it("are absent without a gateway", () => {
  expect(samples(open())).toEqual([])
})

it("count requests by route and status class, upstream errors, and durations", () => {
  const hub = open({ targets: [target("a", true, 3), target("b", false, 0)], upgrades: 2 })
  hub.routes.count("api", 200, 4, 0)
  hub.routes.count("api", 204, 20, 12)
  hub.routes.count("api", 502, 6, 0, "UPSTREAM_BROKEN")
  hub.routes.count("web", 101, 1, 0)
  hub.routes.count("web", 499, 1, 0)
  expect(samples(hub)).toEqual([
    'sluice_gateway_requests_total{route="api",status="1xx"} 0',
    'sluice_gateway_requests_total{route="api",status="2xx"} 2',
    'sluice_gateway_requests_total{route="api",status="3xx"} 0',
    'sluice_gateway_requests_total{route="api",status="4xx"} 0',
    'sluice_gateway_requests_total{route="api",status="5xx"} 1',
    'sluice_gateway_requests_total{route="web",status="1xx"} 1',
    'sluice_gateway_requests_total{route="web",status="2xx"} 0',
    'sluice_gateway_requests_total{route="web",status="3xx"} 0',
    'sluice_gateway_requests_total{route="web",status="4xx"} 1',
    'sluice_gateway_requests_total{route="web",status="5xx"} 0',
    'sluice_gateway_upstream_errors_total{route="api",error="UPSTREAM_BROKEN"} 1',
    'sluice_gateway_request_duration_seconds_sum{route="api"} 0.03',
    'sluice_gateway_request_duration_seconds_count{route="api"} 3',
    'sluice_gateway_request_duration_seconds_sum{route="web"} 0.002',
    'sluice_gateway_request_duration_seconds_count{route="web"} 2',
    'sluice_gateway_queue_duration_seconds_sum{route="api"} 0.012',
    'sluice_gateway_queue_duration_seconds_count{route="api"} 1',
    'sluice_gateway_queue_duration_seconds_sum{route="web"} 0',
    'sluice_gateway_queue_duration_seconds_count{route="web"} 0',
    'sluice_gateway_target_up{upstream="u",target="http://a"} 1',
    'sluice_gateway_target_up{upstream="u",target="http://b"} 0',
    'sluice_gateway_target_active{upstream="u",target="http://a"} 3',
    'sluice_gateway_target_active{upstream="u",target="http://b"} 0',
    "sluice_gateway_upgrades 2",
  ])
  expect(hub.metrics()).toContain(
    'sluice_gateway_request_duration_seconds_bucket{route="api",le="0.005"} 1\n' +
      'sluice_gateway_request_duration_seconds_bucket{route="api",le="0.01"} 2\n' +
      'sluice_gateway_request_duration_seconds_bucket{route="api",le="0.025"} 3\n',
  )
})

it("of workers are summed, each second once, and a target is up when all workers see it up", () => {
  const primary = open()
  const workers = [
    open({ targets: [target("a", true, 1), target("b", true, 1)], upgrades: 1 }),
    open({ targets: [target("a", true, 2), target("b", false, 0)], upgrades: 4 }),
  ]
  workers.forEach((worker, id) => {
    worker.reportTo((report) => primary.absorb(id, structuredClone(report)))
    for (let second = 0; second < 2; second++) {
      worker.routes.count("api", 200, 2, 1)
      worker.tick()
    }
    worker.routes.count("api", 503, 2, 0, "UPSTREAM_UNAVAILABLE")
    worker.tick()
  })
  expect(samples(primary)).toEqual(
    expect.arrayContaining([
      'sluice_gateway_requests_total{route="api",status="2xx"} 4',
      'sluice_gateway_requests_total{route="api",status="5xx"} 2',
      'sluice_gateway_upstream_errors_total{route="api",error="UPSTREAM_UNAVAILABLE"} 2',
      'sluice_gateway_request_duration_seconds_sum{route="api"} 0.012',
      'sluice_gateway_request_duration_seconds_count{route="api"} 6',
      'sluice_gateway_queue_duration_seconds_count{route="api"} 4',
      'sluice_gateway_target_up{upstream="u",target="http://a"} 1',
      'sluice_gateway_target_up{upstream="u",target="http://b"} 0',
      'sluice_gateway_target_active{upstream="u",target="http://a"} 3',
      "sluice_gateway_upgrades 5",
    ]),
  )
  primary.forget(1)
  expect(samples(primary)).toContain('sluice_gateway_target_up{upstream="u",target="http://b"} 1')
})
