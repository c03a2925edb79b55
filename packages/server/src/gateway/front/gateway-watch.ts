import type { RuleDecision } from "sluice/rules"
import type { Route } from "../routes/route.js"
import type { Target } from "../upstream/upstream.js"

/** One request through the gateway, once it is over: its last byte is out, or somebody hung up. */
export interface Forwarded {
  /** Undefined when none matched. */
  readonly route: Route | undefined
  /** Undefined when it never came to that: denied, refused, no route, no target. */
  readonly target: Target | undefined
  readonly method: string
  readonly host: string | undefined
  /** Canonical, without the query: a query may hold anything. As it came where it was refused. */
  readonly path: string
  /** `1.1`, `2.0` */
  readonly httpVersion: string
  /** By the trusted proxies, where there are any. */
  readonly clientIp: string | undefined
  readonly referer: string | undefined
  readonly userAgent: string | undefined
  /** What the client was told; 499 when it went away before it was told anything, 101 for an upgrade. */
  readonly status: number
  /** Of bodies, in bytes. */
  readonly bytesIn: number
  readonly bytesOut: number
  readonly durationMs: number
  /** From the moment it was sent to the target until the head of its answer. */
  readonly upstreamMs: number | undefined
  /** How long a queueing limit held it. */
  readonly queuedMs: number
  readonly decision: RuleDecision | undefined
  /** Why the upstream gave no answer, or only half of one: an error code of the gateway. Few and fixed: it is a label. */
  readonly error: string | undefined
}

/** Who is told of what passes the gateway: access log and metrics. */
export interface GatewayWatch {
  ended(event: Forwarded): void
}
