// Envoy, as docs/service.md configures its rate limit filter, in front of a real application.

import { parse, stringify } from "yaml"
import { blocksOf, type ProxyProcess, startProxy } from "../service/proxy.js"
import { toolPath } from "../support/tool.js"

export interface EnvoyPorts {
  /** Of Sluice's gRPC listener. */
  readonly sluice: number
  readonly application: number
}

/** One entry of Envoy's `rate_limits`: the actions that make up a descriptor, and what it costs. */
export type RateLimitActions = Readonly<Record<string, unknown>>

export function startEnvoyProxy(
  ports: EnvoyPorts,
  rateLimits: readonly RateLimitActions[],
): Promise<ProxyProcess> {
  return startProxy(
    toolPath("envoy"),
    (_room, port) => ({ "envoy.yaml": stringify(bootstrap(port, ports, rateLimits)) }),
    // Several run at once: without a base id they would share memory, and only one could start.
    () => ["-c", "envoy.yaml", "--use-dynamic-base-id", "--concurrency", "1", "--log-level", "warning"],
  )
}

function bootstrap(port: number, ports: EnvoyPorts, rateLimits: readonly RateLimitActions[]) {
  const shown = blocksOf("yaml").find((block) => block.includes("envoy.filters.http.ratelimit"))
  if (shown === undefined) throw new Error("docs/service.md shows no configuration of Envoy")
  const { http_filters, clusters } = parse(shown.replace("port_value: 8081", `port_value: ${ports.sluice}`))
  http_filters[0].typed_config.enable_x_ratelimit_headers = "DRAFT_VERSION_03"
  // A slow test machine is not what is tested.
  http_filters[0].typed_config.timeout = "5s"
  // Otherwise it would ask a service that is not healthy when there is no other.
  clusters[0].common_lb_config = { healthy_panic_threshold: { value: 0 } }
  clusters[0].health_checks = [
    {
      timeout: "1s",
      interval: "0.1s",
      no_traffic_interval: "0.1s",
      unhealthy_threshold: 1,
      healthy_threshold: 1,
      grpc_health_check: { service_name: "envoy.service.ratelimit.v3.RateLimitService" },
    },
  ]
  const router = {
    name: "envoy.filters.http.router",
    typed_config: typed("extensions.filters.http.router.v3.Router", {}),
  }
  const manager = typed("extensions.filters.network.http_connection_manager.v3.HttpConnectionManager", {
    stat_prefix: "edge",
    http_filters: [...http_filters, router],
    route_config: {
      virtual_hosts: [
        {
          name: "all",
          domains: ["*"],
          // Not the virtual host's own `rate_limits`: of these, Envoy tells no cost.
          typed_per_filter_config: {
            "envoy.filters.http.ratelimit": typed("extensions.filters.http.ratelimit.v3.RateLimitPerRoute", {
              rate_limits: rateLimits,
            }),
          },
          routes: [{ match: { prefix: "/" }, route: { cluster: "application" } }],
        },
      ],
    },
  })
  const listener = {
    address: addressOn(port),
    filter_chains: [
      { filters: [{ name: "envoy.filters.network.http_connection_manager", typed_config: manager }] },
    ],
  }
  return { static_resources: { listeners: [listener], clusters: [...clusters, application(ports)] } }
}

function application(ports: EnvoyPorts) {
  const endpoint = { endpoint: { address: addressOn(ports.application) } }
  return {
    name: "application",
    type: "STATIC",
    load_assignment: { cluster_name: "application", endpoints: [{ lb_endpoints: [endpoint] }] },
  }
}

function addressOn(port: number) {
  return { socket_address: { address: "127.0.0.1", port_value: port } }
}

function typed(type: string, fields: object) {
  return { "@type": `type.googleapis.com/envoy.${type}`, ...fields }
}
