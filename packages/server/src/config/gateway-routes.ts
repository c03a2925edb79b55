// Expands the short forms of the gateway's section: `upstream` becomes an entry of `upstreams`, and gets a route if there is none.

import {
  type GatewaySettings,
  type RouteSettings,
  type UpstreamSettings,
  upstreamSchema,
} from "./gateway-schema.js"

/** The name of the upstream that `gateway.upstream` makes. */
export const DEFAULT_UPSTREAM = "default"

export interface NamedRoute extends RouteSettings {
  readonly name: string
  /** The host and path, which must be unique among routes. */
  readonly place: string
}

export function upstreamsOf({ upstream, upstreams }: GatewaySettings): Record<string, UpstreamSettings> {
  if (upstream.length === 0) return upstreams
  return { ...upstreams, [DEFAULT_UPSTREAM]: upstreamSchema.parse({ targets: upstream }) }
}

export function routesOf(settings: GatewaySettings): NamedRoute[] {
  const { routes } = settings
  if (routes.length > 0) return routes.map((route) => ({ ...route, ...namesOf(route) }))
  const only = Object.keys(upstreamsOf(settings))[0]
  if (only === undefined) return []
  const all = { name: only, place: "/", path: "/", upstream: only, stripPrefix: false, methodOverride: false }
  return [{ ...all, deadlines: {} }]
}

function namesOf({ name, host, path }: RouteSettings): { name: string; place: string } {
  const below = path.length > 1 && path.endsWith("/") ? path.slice(0, -1) : path
  const place = `${host?.toLowerCase().replace(/\.$/, "") ?? ""}${below}`
  return { name: name ?? place, place }
}
