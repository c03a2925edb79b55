// The gateway's section of the configuration.

import { z } from "zod"
import { address, duration, text } from "./values.js"

const deadlines = z
  .strictObject({
    connect: duration.prefault("5s").meta({ description: "Until a connection to the upstream stands." }),
    headers: duration
      .prefault("60s")
      .meta({ description: "Until the answer begins, once the request is sent." }),
    bodyIdle: duration.prefault("60s").meta({ description: "Between two pieces of a body, either way." }),
    total: duration.prefault("0s").meta({ description: "For the whole; 0 for no end." }),
  })
  .meta({ description: "How long an upstream may take; 0 is for ever." })

const health = z
  .strictObject({
    path: text.meta({ description: "Asked with GET; 2xx and 3xx are good." }),
    interval: duration.prefault("5s"),
    timeout: duration.prefault("2s"),
    unhealthyAfter: z.int().min(1).default(3).meta({ description: "Bad answers in a row." }),
    healthyAfter: z.int().min(1).default(2).meta({ description: "Good answers in a row." }),
  })
  .meta({
    id: "Health",
    description: "Asks each target how it is. Who does not answer well gets no requests.",
  })

const ejection = z
  .strictObject({
    failures: z.int().min(0).default(5).meta({ description: "Failed requests in a row; 0 for never." }),
    for: duration.prefault("10s").meta({ description: "Longer each time in a row." }),
  })
  .meta({ id: "Ejection", description: "Leaves a target that fails requests alone for a while." })

const upstreamTls = z
  .strictObject({
    ca: text.optional().meta({ description: "A file: who signs its certificates, if that is nobody known." }),
    serverName: text.optional().meta({ description: "The name its certificate must be for." }),
  })
  .meta({ id: "UpstreamTls", description: "For https targets. Their certificates are always verified." })

export const upstreamSchema = z
  .strictObject({
    targets: z.array(text).min(1).meta({ description: "Addresses that answer alike: http://10.0.0.1:3000." }),
    balance: z.enum(["round-robin", "least-connections"]).default("round-robin"),
    health: health.optional(),
    ejection: ejection.prefault({}),
    tls: upstreamTls.prefault({}),
    connections: z.int().min(1).default(1_024).meta({ description: "Open at once, to each target." }),
    waiting: z
      .int()
      .min(1)
      .default(1_024)
      .meta({ description: "Requests that wait for a connection to each target; more are answered 503." }),
    keepAlive: duration
      .prefault("4s")
      .meta({ description: "How long an idle connection is kept. Less than the upstream keeps it." }),
  })
  .meta({ id: "Upstream" })

const route = z
  .strictObject({
    name: text.optional().meta({ description: "For logs and metrics. Default: its host and path." }),
    host: text.optional().meta({ description: "api.example.com or *.example.com. Default: every host." }),
    path: text.default("/").meta({ description: "This path and everything below it." }),
    upstream: text.meta({ description: "The name of one of gateway.upstreams." }),
    stripPrefix: z
      .boolean()
      .default(false)
      .meta({ description: "Whether the upstream sees the path without path." }),
    methodOverride: z.boolean().default(false).meta({
      description: "Whether the upstream sees X-HTTP-Method-Override and its like.",
    }),
    keepHost: z.boolean().optional().meta({
      description: "Whether the upstream sees the client's Host. Default: yes over http, no over https.",
    }),
    deadlines: z
      .strictObject({
        connect: duration.optional(),
        headers: duration.optional(),
        bodyIdle: duration.optional(),
        total: duration.optional(),
      })
      .prefault({})
      .meta({ id: "RouteDeadlines", description: "Where they differ from gateway.deadlines." }),
  })
  .meta({ id: "Route" })

export const gatewaySchema = z
  .strictObject({
    enabled: z.boolean().default(false),
    ...address(8000),
    upstream: z.array(text).default([]).meta({
      description: "One upstream for everything: http://localhost:3000, and others that answer alike.",
    }),
    upstreams: z
      .record(text, upstreamSchema)
      .default({})
      .meta({ description: "Several, by name. default is the one of gateway.upstream." }),
    routes: z
      .array(route)
      .default([])
      .meta({ description: "Which requests go to which. Default: all to the only upstream." }),
    deadlines: deadlines.prefault({}),
    tls: z
      .strictObject({
        cert: text.optional().meta({ description: "A file: the certificate and those it is signed by." }),
        key: text.optional().meta({ description: "A file: its key." }),
      })
      .prefault({})
      .meta({ description: "Serves https, and HTTP/2. Changed files are followed." }),
    http2: z
      .boolean()
      .default(true)
      .meta({ description: "Whether it is offered to clients that speak TLS." }),
    clientShare: z.number().gt(0).max(1).default(0.5).meta({
      description:
        "The part of a target's connections, of the places to wait for one and of upgrades that one client may take.",
    }),
    uploads: z
      .strictObject({
        rate: z.int().min(0).default(240).meta({
          description: "Bytes a second that a client must send of a body; 0 for as slowly as it likes.",
        }),
        grace: duration.prefault("5s").meta({ description: "How long it may be slower at first." }),
      })
      .prefault({})
      .meta({ description: "How fast bodies must arrive. A client that is slower is answered 408." }),
    held: z
      .int()
      .min(0)
      .default(1_000)
      .meta({ description: "Requests that queueing limits hold at once; more are denied." }),
    upgrades: z.int().min(0).default(10_000).meta({ description: "WebSockets and the like, open at once." }),
    accessLog: z
      .strictObject({
        format: z.enum(["json", "combined", "off"]).default("json"),
        file: text.optional().meta({ description: "Default: standard output." }),
      })
      .prefault({})
      .meta({ description: "A line for each request. SIGHUP opens the file anew." }),
  })
  .meta({ description: "A reverse proxy that checks before it forwards." })

export type GatewaySettings = z.output<typeof gatewaySchema>
export type UpstreamSettings = z.output<typeof upstreamSchema>
export type RouteSettings = z.output<typeof route>
