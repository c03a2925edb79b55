// Envoy, as docs/service.md configures its rate limit filter, in front of a real application.

import { parse, stringify } from "yaml"
import { blocksOf, type ProxyProcess, startProxy } from "../service/proxy.js"
import { toolPath } from "../support/tool.js"

export interface EnvoyPorts {
  /** Of Sluice's gRPC listeners: one, or several instances. */
  readonly sluice: readonly number[]
  readonly application: number
}

/** One entry of Envoy's `rate_limits`: the actions that make up a descriptor, and what it costs. */
export type RateLimitActions = Readonly<Record<string, unknown>>

export interface EnvoyOptions {
  readonly rateLimits: readonly RateLimitActions[]
  /** Fields of the rate limit filter that are others than the page's. */
  readonly filter?: Readonly<Record<string, unknown>>
  /** Filters before it. */
  readonly before?: readonly object[]
  /** Routes before the one for everything, each with descriptors of its own. */
  readonly routes?: readonly { readonly prefix: string; readonly perRoute: object }[]
  /** Default: true. Without health checks, Envoy also calls a service that is down. */
  readonly healthChecks?: boolean
  /** Fields of the connection manager. */
  readonly manager?: object
  /** Clusters beside those of the service and the application. */
  readonly clusters?: readonly object[]
}

export function startEnvoyProxy(ports: EnvoyPorts, options: EnvoyOptions): Promise<ProxyProcess> {
  return startProxy(
    toolPath("envoy"),
    (_room, port) => ({ "envoy.yaml": stringify(bootstrap(port, ports, options)) }),
    // Several run at once: without a base id they would share memory, and only one could start.
    () => ["-c", "envoy.yaml", "--use-dynamic-base-id", "--concurrency", "1", "--log-level", "warning"],
  )
}

/** What docs/service.md tells people to write for a filter. */
export function shownOnPage(filter: string) {
  const shown = blocksOf("yaml").find((block) => block.includes(`name: ${filter}\n`))
  if (shown === undefined) throw new Error(`docs/service.md shows no configuration of ${filter}`)
  return parse(shown)
}

function bootstrap(port: number, ports: EnvoyPorts, options: EnvoyOptions) {
  const { rateLimits, filter = {}, before = [], routes = [], healthChecks = true, manager = {} } = options
  const { http_filters, clusters } = shownOnPage("envoy.filters.http.ratelimit")
  Object.assign(http_filters[0].typed_config, {
    enable_x_ratelimit_headers: "DRAFT_VERSION_03",
    // Generous, because a slow machine must not fail the test.
    timeout: "5s",
    ...filter,
  })
  Object.assign(clusters[0], { load_assignment: endpoints("sluice", ports.sluice) })
  if (healthChecks) Object.assign(clusters[0], HEALTH_CHECKS)
  const router = {
    name: "envoy.filters.http.router",
    typed_config: typed("extensions.filters.http.router.v3.Router", {}),
  }
  const toApplication = { route: { cluster: "application" } }
  const typedManager = typed("extensions.filters.network.http_connection_manager.v3.HttpConnectionManager", {
    stat_prefix: "edge",
    http_filters: [...before, ...http_filters, router],
    route_config: {
      virtual_hosts: [
        {
          name: "all",
          domains: ["*"],
          // Not the virtual host's own `rate_limits`: of these, Envoy tells no cost.
          typed_per_filter_config: perRoute({ rate_limits: rateLimits }),
          routes: [
            ...routes.map(({ prefix, perRoute: own }) => ({
              match: { prefix },
              ...toApplication,
              typed_per_filter_config: perRoute({ rate_limits: rateLimits, ...own }),
            })),
            { match: { prefix: "/" }, ...toApplication },
          ],
        },
      ],
    },
    ...manager,
  })
  const listener = {
    address: addressOn(port),
    filter_chains: [
      { filters: [{ name: "envoy.filters.network.http_connection_manager", typed_config: typedManager }] },
    ],
  }
  const application = {
    name: "application",
    type: "STATIC",
    load_assignment: endpoints("application", [ports.application]),
  }
  const all = [...clusters, application, ...(options.clusters ?? [])]
  return { static_resources: { listeners: [listener], clusters: all } }
}

const HEALTH_CHECKS = {
  // Otherwise it would ask a service that is not healthy when there is no other.
  common_lb_config: { healthy_panic_threshold: { value: 0 } },
  health_checks: [
    {
      timeout: "1s",
      interval: "0.1s",
      no_traffic_interval: "0.1s",
      unhealthy_threshold: 1,
      healthy_threshold: 1,
      grpc_health_check: { service_name: "envoy.service.ratelimit.v3.RateLimitService" },
    },
  ],
}

function perRoute(fields: object) {
  return {
    "envoy.filters.http.ratelimit": typed("extensions.filters.http.ratelimit.v3.RateLimitPerRoute", fields),
  }
}

export function endpoints(name: string, ports: readonly number[]) {
  return {
    cluster_name: name,
    endpoints: [{ lb_endpoints: ports.map((port) => ({ endpoint: { address: addressOn(port) } })) }],
  }
}

function addressOn(port: number) {
  return { socket_address: { address: "127.0.0.1", port_value: port } }
}

export function typed(type: string, fields: object) {
  return { "@type": `type.googleapis.com/envoy.${type}`, ...fields }
}
