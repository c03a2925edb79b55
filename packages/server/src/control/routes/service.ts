// The service itself: liveness, readiness, status and version.

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
  revision: z.int().meta({ description: "The revision of the rules in force." }),
})

/** What these routes need from telemetry. */
export interface ServiceState {
  state(): Pick<StatusReport, "startedAt" | "workers" | "leases"> & {
    readonly store: Partial<StatusReport["store"]>
  }
}

export interface ServiceRoutesOptions {
  readonly core: Core
  readonly watch: ServiceState
  readonly readiness: Readiness | undefined
  readonly version: string
  /** Whether clients need a token. */
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
      summary: "Liveness",
      description: "It does not depend on the store.",
      answer: { description: "The process is alive.", schema: z.object({ status: z.literal("ok") }) },
      run: () => ({ json: { status: "ok" } }),
    }),
    route({
      method: "GET",
      path: "/readyz",
      role: "anyone",
      tag,
      summary: "Readiness",
      description: "503 while the service drains. A failed store makes it degraded, but it stays ready.",
      answer: { description: "The service is ready.", schema: readinessReport },
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
      summary: "The name and role of the token",
      answer: { description: "The name and role of the token.", schema: sessionReport },
      run: ({ actor: { name, role } }) => ({ json: { name, role, byToken } }),
    }),
    route({
      method: "GET",
      path: "/status",
      role: "reader",
      tag,
      summary: "The status of the service",
      description: "The current state of its rules, its store and its instances.",
      answer: { description: "The status.", schema: statusReport },
      run: () => ({ json: statusOf(options) }),
    }),
    route({
      method: "GET",
      path: "/version",
      role: "reader",
      tag,
      summary: "The version of the service",
      answer: {
        description: "The versions of the service, of Node.js and of the rules.",
        schema: z.object({ version: z.string(), node: z.string(), revision: z.int() }),
      },
      run: () => ({ json: { version, node: process.versions.node, revision: core.engine.revision } }),
    }),
  ]
}

function statusOf({ core, watch, readiness, version, sample, clock }: ServiceRoutesOptions): StatusReport {
  const { store, leases, ...state } = watch.state()
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
    // Only a store that can fail has breakers.
    store: { kind: store.breakers === undefined ? "memory" : "redis", ...store },
    ...(leases === undefined ? {} : { leases }),
    ...(sample === undefined
      ? {}
      : { sampleTraffic: sample.endsAt === undefined ? {} : { endsAt: sample.endsAt } }),
  }
}
