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
  text.metric(requests, "counter", "Requests to the gateway, by route and by the class of their status.")
  for (const [route, { statuses }] of routes)
    STATUS_CLASSES.forEach((status, i) => {
      text.sample(requests, statuses[i] as number, { route, status })
    })
  const errors = "sluice_gateway_upstream_errors_total"
  text.metric(errors, "counter", "Requests that an upstream gave no answer to, or half of one.")
  for (const [route, counts] of routes)
    for (const [error, count] of counts.errors) text.sample(errors, count, { route, error })
  const durations = "sluice_gateway_request_duration_seconds"
  text.metric(
    durations,
    "histogram",
    "How long a request took, from its head to the last byte of its answer.",
  )
  for (const [route, counts] of routes) text.histogram(durations, counts.durations, { route })
  const queued = "sluice_gateway_queue_duration_seconds"
  text.metric(queued, "histogram", "How long a queueing limit held a request, of those that it held.")
  for (const [route, counts] of routes) text.histogram(queued, counts.queued, { route })
  text.metric("sluice_gateway_target_up", "gauge", "1 for a target that gets requests.")
  for (const { upstream, target, isUp } of state.targets)
    text.sample("sluice_gateway_target_up", Number(isUp), { upstream, target })
  text.metric("sluice_gateway_target_active", "gauge", "Requests that a target is answering.")
  for (const { upstream, target, active } of state.targets)
    text.sample("sluice_gateway_target_active", active, { upstream, target })
  text.single("sluice_gateway_upgrades", "gauge", "Upgraded connections that are open.", state.upgrades)
}
