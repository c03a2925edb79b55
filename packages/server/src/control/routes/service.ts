// The service itself: whether it lives, whether it takes requests, which version it is.

import type { Clock } from "sluice"
import { z } from "zod"
import type { Core } from "../../core.js"
import { type Route, route } from "../api/route.js"
import type { SampleTraffic } from "../api/sample-traffic.js"
import { type StatusReport, sessionReport, statusReport } from "../api/schemas.js"

const tag = "Service"

export interface Readiness {
  readonly isReady: boolean
  report(core: Core): Pick<StatusReport, "status">
}

const readinessReport = z.object({
  status: z.enum(["ready", "degraded", "draining"]),
  revision: z.int().meta({ description: "Of the rules that decide." }),
})

/** What the routes need of the service's watch. */
export interface ServiceState {
  state(): Pick<StatusReport, "startedAt" | "workers"> & {
    readonly store: Partial<StatusReport["store"]>
  }
}

export interface ServiceRoutesOptions {
  readonly core: Core
  readonly watch: ServiceState
  readonly readiness: Readiness | undefined
  readonly version: string
  /** Whether the service has tokens. */
  readonly byToken: boolean
  readonly sample: SampleTraffic | undefined
  readonly clock: Clock
}

export function serviceRoutes(options: ServiceRoutesOptions): Route[] {
  const { core, readiness, version, byToken } = options
  return [
    route({
      method: "GET",
      path: "/livez",
      role: "anyone",
      tag,
      summary: "Whether the process lives",
      description: "Does not depend on the store.",
      answer: { description: "It does.", schema: z.object({ status: z.literal("ok") }) },
      run: () => ({ json: { status: "ok" } }),
    }),
    route({
      method: "GET",
      path: "/readyz",
      role: "anyone",
      tag,
      summary: "Whether requests should come here",
      description: "503 while it drains. A store that is away makes it degraded, and ready all the same.",
      answer: { description: "They should.", schema: readinessReport },
      run: () => ({
        status: readiness?.isReady === false ? 503 : 200,
        json: readiness?.report(core) ?? { status: "ready", revision: core.engine.revision },
      }),
    }),
    route({
      method: "GET",
      path: "/session",
      role: "reader",
      tag,
      summary: "Who is asking",
      answer: { description: "Whose token it is, and what it may do.", schema: sessionReport },
      run: ({ actor: { name, role } }) => ({ json: { name, role, byToken } }),
    }),
    route({
      method: "GET",
      path: "/status",
      role: "reader",
      tag,
      summary: "How the service is",
      description: "Its rules, its store and its instances, as they are now.",
      answer: { description: "All of it in one answer.", schema: statusReport },
      run: () => ({ json: statusOf(options) }),
    }),
    route({
      method: "GET",
      path: "/version",
      role: "reader",
      tag,
      summary: "Which version this is",
      answer: {
        description: "Of the service, of Node.js, and of the rules.",
        schema: z.object({ version: z.string(), node: z.string(), revision: z.int() }),
      },
      run: () => ({ json: { version, node: process.versions.node, revision: core.engine.revision } }),
    }),
  ]
}

function statusOf({ core, watch, readiness, version, sample, clock }: ServiceRoutesOptions): StatusReport {
  const { store, ...state } = watch.state()
  const { current, stale } = core.rules
  const { status } = readiness?.report(core) ?? { status: "ready" }
  return {
    status,
    version,
    node: process.versions.node,
    now: clock.now(),
    ...state,
    rules: {
      revision: current.revision,
      count: current.document.rules.length,
      changedAt: current.changedAt,
      changedBy: current.changedBy,
      stale,
    },
    // A store with breakers is one that can be away.
    store: { kind: store.breakers === undefined ? "memory" : "redis", ...store },
    ...(sample === undefined
      ? {}
      : { sampleTraffic: sample.endsAt === undefined ? {} : { endsAt: sample.endsAt } }),
  }
}
