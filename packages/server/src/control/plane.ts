// The control plane: rules, keys and telemetry over HTTP.

import type { IncomingMessage, RequestListener, ServerResponse } from "node:http"
import { type Clock, systemClock } from "sluice"
import type { GuardRails } from "sluice/rules"
import type { Core } from "../core.js"
import { RuleChecker } from "../rule-work/rule-checker.js"
import { Access } from "./api/access.js"
import { sendAnswer, sendProblem } from "./api/answer.js"
import { AuditLog } from "./api/audit.js"
import { readBody } from "./api/body.js"
import { checkQuery } from "./api/checked.js"
import { Editor } from "./api/editor.js"
import { type EventSource, Feed, type FeedOptions } from "./api/feed.js"
import { FULL, problemHeaders, requestProblem } from "./api/request-problem.js"
import { etagOf } from "./api/revision-etag.js"
import type { RoleTokenSpec } from "./api/roles.js"
import { type Answer, type Route, Router } from "./api/route.js"
import { SampleTraffic } from "./api/sample-traffic.js"
import { type ReplayLimits, Replays } from "./replay/replays.js"
import { clientRoutes } from "./routes/clients.js"
import { descriptionRoutes } from "./routes/description.js"
import { explainRoutes } from "./routes/explain.js"
import { keyRoutes } from "./routes/keys.js"
import { overrideRoutes } from "./routes/overrides.js"
import { replayRoutes } from "./routes/replay.js"
import { ruleRoutes } from "./routes/rules.js"
import { sampleRoutes } from "./routes/sample.js"
import { type Readiness, type ServiceState, serviceRoutes } from "./routes/service.js"
import { type Watching, watchingRoutes } from "./routes/watching.js"
import { StaticFiles } from "./static-files.js"

export interface ControlPlaneOptions {
  /** The telemetry of the service. */
  readonly watch: Watching & ServiceState & EventSource
  /** The tokens of clients. Without any, every local client has the role admin. */
  readonly tokens?: readonly RoleTokenSpec[]
  /** The file of the audit log. Default: the last 1,000 entries are kept in memory. */
  readonly audit?: string | undefined
  /** The folder of the dashboard's files. */
  readonly dashboard?: string | undefined
  /** Whether the dashboard offers sample traffic. Default: false. */
  readonly sampleTraffic?: boolean
  readonly readiness?: Readiness
  readonly version?: string
  /** Default: 256 KiB. */
  readonly maxBodyBytes?: number
  /** How long a body may take to arrive. Default: 10,000. */
  readonly bodyTimeoutMs?: number
  readonly events?: FeedOptions
  readonly replay?: ReplayLimits
  /** Bounds on the rules that clients send. */
  readonly guardRails?: GuardRails | undefined
  readonly clock?: Clock
  /** Called with every error that is not a mistake of the client. */
  readonly onError?: (error: unknown) => void
}

/** Serves the control plane. */
export interface ControlPlane extends RequestListener {
  /** Ends sample traffic and live events, whose streams would otherwise keep connections open until the deadline. */
  close(): void
}

export function createControlPlane(core: Core, options: ControlPlaneOptions): ControlPlane {
  const { tokens = [], version = "0.0.0", maxBodyBytes = 262_144, onError = () => {} } = options
  const { bodyTimeoutMs = 10_000 } = options
  const access = new Access(tokens, options.clock)
  const audit = new AuditLog(options.audit)
  const checker = new RuleChecker(options.guardRails)
  const editor = new Editor({ rules: core.rules, engine: core.engine, audit, checker, clock: options.clock })
  const feed = new Feed(options.watch, options.events)
  const files = options.dashboard === undefined ? undefined : new StaticFiles(options.dashboard)
  const sample = options.sampleTraffic ? new SampleTraffic(core, options.clock) : undefined
  const routes = [
    ...ruleRoutes(core, editor, checker),
    ...overrideRoutes(core, editor),
    ...clientRoutes(core, editor),
    ...keyRoutes(core, editor),
    ...explainRoutes(core),
    ...replayRoutes(core, new Replays(checker, options.replay), maxBodyBytes),
    ...watchingRoutes(options.watch, feed, audit),
    ...sampleRoutes(sample),
    ...serviceRoutes({
      core,
      watch: options.watch,
      readiness: options.readiness,
      version,
      byToken: tokens.length > 0,
      sample,
      clock: options.clock ?? systemClock,
    }),
  ]
  const router = new Router([...routes, ...descriptionRoutes(routes, version)])

  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<Answer | undefined> => {
    const [path = "/", ...query] = (request.url ?? "/").split("?")
    const file = await fileAt(files, path, request)
    if (file !== undefined) {
      access.admitAnyone(request)
      return file
    }
    if (path === "/") return { status: 302, headers: { location: "/docs" } }
    const { route, params } = router.find(path, request.method)
    const asked = { request, response, params, actor: admit(access, request, route) }
    const checked = checkQuery(route.query, query.join("?"))
    const body =
      route.body === undefined
        ? undefined
        : await inTime(request, readBody(request, route.body, maxBodyBytes), bodyTimeoutMs)
    return await route.run({ ...asked, body, query: checked })
  }

  const fail = (request: IncomingMessage, response: ServerResponse, error: unknown): void => {
    // The client is gone.
    if (response.destroyed || (request.destroyed && !request.complete)) return
    const problem = requestProblem(error)
    if (problem.status >= 500 && !FULL.includes(problem.code ?? "")) onError(error)
    if (response.headersSent) {
      response.destroy()
      return
    }
    // An unread rest of the body would be taken for the next request.
    const ending = request.complete ? {} : { connection: "close" }
    sendProblem(response, problem, { ...problemHeaders(error, etagOf(core.rules.current)), ...ending })
  }

  const listener: RequestListener = (request, response) => {
    answer(request, response)
      .then((given) => {
        if (given !== undefined && !response.destroyed) sendAnswer(request, response, given)
      })
      .catch((error: unknown) => fail(request, response, error))
  }
  const close = () => {
    sample?.stop()
    feed.close()
  }
  return Object.assign(listener, { close })
}

/** Disconnects a client whose body arrives too slowly. The HTTP server has no such time-out, because a log may take minutes. */
async function inTime<T>(request: IncomingMessage, reading: Promise<T>, ms: number): Promise<T> {
  const late = setTimeout(() => request.destroy(), ms)
  try {
    return await reading
  } finally {
    clearTimeout(late)
  }
}

/** Stands for the client of a route that needs no token. */
function admit(access: Access, request: IncomingMessage, { role }: Route) {
  if (role !== "anyone") return access.admit(request, role)
  access.admitAnyone(request)
  return { name: "anyone", role: "reader", address: request.socket.remoteAddress ?? "" } as const
}

async function fileAt(
  files: StaticFiles | undefined,
  path: string,
  { method, headers }: IncomingMessage,
): Promise<Answer | undefined> {
  if (method !== "GET" && method !== "HEAD") return undefined
  return await files?.find(path, String(headers["accept-encoding"] ?? ""))
}
