// The service itself: whether it lives, whether it takes requests, which version it is.

import { z } from "zod"
import type { Core } from "../../core.js"
import { type Route, route } from "../route.js"

const tag = "Service"

export interface Readiness {
  readonly isReady: boolean
  report(core: Core): object
}

const readinessReport = z.object({
  status: z.enum(["ready", "degraded", "draining"]),
  revision: z.int().meta({ description: "Of the rules that decide." }),
})

export function serviceRoutes(core: Core, readiness: Readiness | undefined, version: string): Route[] {
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
