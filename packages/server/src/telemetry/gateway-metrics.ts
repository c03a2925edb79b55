import type { Exposition } from "./exposition.js"
import { type RouteTally, STATUS_CLASSES } from "./route-tally.js"

/** The current state of the gateway. */
export interface GatewayState {
  readonly targets: readonly {
    readonly upstream: string
    readonly target: string
    readonly isUp: boolean
    readonly active: number
  }[]
  /** Open upgraded connections. */
  readonly upgrades: number
}

export function gatewayMetrics(text: Exposition, { routes }: RouteTally, state: GatewayState): void {
  const requests = "sluice_gateway_requests_total"
  text.metric(requests, "counter", "Requests to the gateway by route and class of status.")
  for (const [route, { statuses }] of routes)
    STATUS_CLASSES.forEach((status, i) => {
      text.sample(requests, statuses[i] as number, { route, status })
    })
  const errors = "sluice_gateway_upstream_errors_total"
  text.metric(
    errors,
    "counter",
    "Requests that an upstream did not answer completely, by route and kind of error.",
  )
  for (const [route, counts] of routes)
    for (const [error, count] of counts.errors) text.sample(errors, count, { route, error })
  const durations = "sluice_gateway_request_duration_seconds"
  text.metric(
    durations,
    "histogram",
    "How long a request took, from its headers to the last byte of the response.",
  )
  for (const [route, counts] of routes) text.durations(durations, counts.durations, { route })
  const queued = "sluice_gateway_queue_duration_seconds"
  text.metric(
    queued,
    "histogram",
    "How long a queueing limit delayed a request. Requests without a delay are not counted.",
  )
  for (const [route, counts] of routes) text.durations(queued, counts.queued, { route })
  text.metric("sluice_gateway_target_up", "gauge", "1 while the target receives requests, otherwise 0.")
  for (const { upstream, target, isUp } of state.targets)
    text.sample("sluice_gateway_target_up", Number(isUp), { upstream, target })
  text.metric("sluice_gateway_target_active", "gauge", "Requests that the target is answering now.")
  for (const { upstream, target, active } of state.targets)
    text.sample("sluice_gateway_target_active", active, { upstream, target })
  text.single("sluice_gateway_upgrades", "gauge", "Open upgraded connections.", state.upgrades)
}
