// Metrics, the busiest keys, live events and the audit log.

import type { AuditLog } from "../api/audit.js"
import type { Feed } from "../api/feed.js"
import { type Route, route } from "../api/route.js"
import { auditList, auditQuery, historyReport, topList, topQuery } from "../api/schemas.js"

const tag = "Watching"

/** What these routes need from telemetry. */
export interface Watching {
  /** The metrics in the text format of Prometheus. */
  metrics(): string
  top(options: { readonly by: "denied" | "used"; readonly limit: number }): readonly object[]
  /** The last 15 minutes, second by second. */
  history(): object
}

export function watchingRoutes(watch: Watching, feed: Feed, audit: AuditLog): Route[] {
  return [
    route({
      method: "GET",
      path: "/top",
      role: "reader",
      tag,
      summary: "The busiest keys",
      description: "The keys that were denied, or allowed, most often of late.",
      query: topQuery,
      answer: { description: "The keys, busiest first.", schema: topList },
      run: ({ query }) => ({ json: watch.top(query) }),
    }),
    route({
      method: "GET",
      path: "/history",
      role: "reader",
      tag,
      summary: "The last 15 minutes",
      description: "The content of the `decisions` events in columns, with one number per second.",
      answer: { description: "Columns, oldest second first.", schema: historyReport },
      run: () => ({ json: watch.history() }),
    }),
    route({
      method: "GET",
      path: "/events",
      role: "reader",
      tag,
      summary: "Live events",
      description:
        "Server-sent events: `decisions` each second with counts per rule, `blocks` for each second in which penalties began blocks, with at most 100 of them and their `total`, `rules` when the rules change, `store` when a breaker changes. With `Last-Event-ID`, what was missed comes first; an event `missed` says that some of it is no longer kept.",
      answer: {
        description: "Events, for as long as the connection is open.",
        schema: { type: "string" },
        types: ["text/event-stream"],
      },
      run({ request, response }) {
        feed.open(request, response)
        return undefined
      },
    }),
    route({
      method: "GET",
      path: "/metrics",
      role: "reader",
      tag,
      summary: "Metrics for Prometheus",
      answer: {
        description: "In the text format of Prometheus.",
        schema: { type: "string" },
        types: ["text/plain"],
      },
      run: () => ({ content: watch.metrics(), type: "text/plain; version=0.0.4; charset=utf-8" }),
    }),
    route({
      method: "GET",
      path: "/audit",
      role: "admin",
      tag,
      summary: "The audit log",
      query: auditQuery,
      answer: { description: "The entries, newest first.", schema: auditList },
      run: async ({ query }) => ({ json: await audit.newest(query.limit) }),
    }),
  ]
}
