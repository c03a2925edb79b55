// The gateway's section of the configuration, and the upstreams and routes that it defines.

import { z } from "zod"
import { address, duration, text } from "./values.js"

const deadlines = z
  .strictObject({
    connect: duration.prefault("5s").describe("How long a connection to a target may take to open."),
    headers: duration
      .prefault("60s")
      .describe("How long the upstream may take to begin its response after it has the request."),
    bodyIdle: duration.prefault("60s").describe("How long a body may pause, in either direction."),
    total: duration.prefault("0s").describe("How long the whole exchange may take. 0 means no limit."),
  })
  .describe("How long an upstream may take. 0 means no limit.")

const health = z
  .strictObject({
    path: text.describe("The path of the check, a GET request. A status of 2xx or 3xx passes."),
    interval: duration.prefault("5s").describe("How often each target is checked."),
    timeout: duration.prefault("2s").describe("How long a check may take."),
    unhealthyAfter: z
      .int()
      .min(1)
      .default(3)
      .describe("A target receives no requests after this many failed checks in a row."),
    healthyAfter: z
      .int()
      .min(1)
      .default(2)
      .describe("It receives requests again after this many passed checks in a row."),
  })
  .meta({
    id: "Health",
    description: "Health checks. A target that fails them receives no requests.",
  })

const ejection = z
  .strictObject({
    failures: z
      .int()
      .min(0)
      .default(5)
      .describe("Eject a target after this many failed requests in a row. 0 means never."),
    for: duration
      .prefault("10s")
      .describe("How long a target stays ejected. Each further ejection in a row lasts longer."),
  })
  .meta({ id: "Ejection", description: "Sends no requests for a while to a target whose requests fail." })

const upstreamTls = z
  .strictObject({
    ca: text
      .optional()
      .describe("A file with the certificate authority of the targets, if it is a private one."),
    serverName: text.optional().describe("The host name that the certificates must have."),
  })
  .meta({
    id: "UpstreamTls",
    description: "TLS to https targets. The gateway always verifies their certificates.",
  })

export const upstreamSchema = z
  .strictObject({
    targets: z
      .array(text)
      .min(1)
      .describe("Addresses of servers that give the same responses, such as http://10.0.0.1:3000."),
    balance: z
      .enum(["round-robin", "least-connections"])
      .default("round-robin")
      .describe("How the gateway chooses a target."),
    health: health.optional(),
    ejection: ejection.prefault({}),
    tls: upstreamTls.prefault({}),
    connections: z.int().min(1).default(1_024).describe("The most open connections to each target."),
    waiting: z
      .int()
      .min(1)
      .default(1_024)
      .describe(
        "The most requests that wait for a connection to each target. Further requests get status 503.",
      ),
    keepAlive: duration
      .prefault("4s")
      .describe("How long an idle connection stays open. Set it shorter than the upstream's own timeout."),
  })
  .meta({ id: "Upstream" })

const route = z
  .strictObject({
    name: text.optional().describe("The name in logs and metrics. Default: the host and path."),
    host: text.optional().describe("A host such as api.example.com or *.example.com. Default: every host."),
    path: text.default("/").describe("The route matches this path and every path below it."),
    upstream: text.describe("A name from gateway.upstreams."),
    stripPrefix: z
      .boolean()
      .default(false)
      .describe("Whether the gateway removes the path of the route before it forwards a request."),
    methodOverride: z
      .boolean()
      .default(false)
      .describe("Whether the gateway forwards X-HTTP-Method-Override and similar headers."),
    keepHost: z
      .boolean()
      .optional()
      .describe(
        "Whether the gateway forwards the Host header of the client. Default: true for http targets, false for https.",
      ),
    deadlines: z
      .strictObject({
        connect: duration.optional(),
        headers: duration.optional(),
        bodyIdle: duration.optional(),
        total: duration.optional(),
      })
      .prefault({})
      .meta({ id: "RouteDeadlines", description: "Overrides gateway.deadlines for this route." }),
  })
  .meta({ id: "Route" })

export const gatewaySchema = z
  .strictObject({
    enabled: z.boolean().default(false),
    ...address(8000),
    upstream: z
      .array(text)
      .default([])
      .describe("The targets of the default upstream, such as http://localhost:3000."),
    upstreams: z
      .record(text, upstreamSchema)
      .default({})
      .describe("Upstreams by name. gateway.upstream defines the one named default."),
    routes: z
      .array(route)
      .default([])
      .describe("Which requests go to which upstream. Default: all requests go to the only upstream."),
    deadlines: deadlines.prefault({}),
    tls: z
      .strictObject({
        cert: text.optional().describe("A file with the certificate and its chain."),
        key: text.optional().describe("A file with the private key."),
      })
      .prefault({})
      .describe("Serves https. The gateway reloads the files when they change."),
    http2: z.boolean().default(true).describe("Whether clients can use HTTP/2 over TLS."),
    clientShare: z
      .number()
      .gt(0)
      .max(1)
      .default(0.5)
      .describe(
        "The largest share of a target's connections, of its waiting requests and of all upgrades that one client may use.",
      ),
    uploads: z
      .strictObject({
        rate: z
          .int()
          .min(0)
          .default(240)
          .describe("The lowest speed of a request body in bytes per second. 0 means no minimum."),
        grace: duration.prefault("5s").describe("How long a body may be slower at its start."),
      })
      .prefault({})
      .describe("How fast request bodies must arrive. A slower client gets status 408."),
    held: z
      .int()
      .min(0)
      .default(1_000)
      .describe("The most requests that queueing limits delay at a time. Further requests are denied."),
    upgrades: z
      .int()
      .min(0)
      .default(10_000)
      .describe("The most open WebSockets and other upgraded connections."),
    accessLog: z
      .strictObject({
        format: z.enum(["json", "combined", "off"]).default("json").describe("The format of each line."),
        file: text.optional().describe("The file to write to. Default: standard output."),
      })
      .prefault({})
      .describe("The access log, one line per request. SIGHUP reopens the file."),
  })
  .describe("A reverse proxy that applies the rules before it forwards a request.")

export type GatewaySettings = z.output<typeof gatewaySchema>
export type UpstreamSettings = z.output<typeof upstreamSchema>
export type RouteSettings = z.output<typeof route>

/** The name of the upstream that `gateway.upstream` makes. */
export const DEFAULT_UPSTREAM = "default"

export interface NamedRoute extends RouteSettings {
  readonly name: string
  /** The host and path, which must be unique among routes. */
  readonly place: string
}

/** All upstreams by name, including the one of `gateway.upstream`. */
export function upstreamsOf({ upstream, upstreams }: GatewaySettings): Record<string, UpstreamSettings> {
  if (upstream.length === 0) return upstreams
  return { ...upstreams, [DEFAULT_UPSTREAM]: upstreamSchema.parse({ targets: upstream }) }
}

/** All routes. If the configuration has none, every request goes to the only upstream. */
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
