// The control plane: rules, keys, and what there is to see of the service, over HTTP.

import type { IncomingMessage, RequestListener, ServerResponse } from "node:http"
import type { Clock } from "sluice"
import type { Core } from "../core.js"
import { Access } from "./access.js"
import { sendAnswer, sendProblem } from "./answer.js"
import { AuditLog } from "./audit.js"
import { readBody } from "./body.js"
import { checkQuery } from "./checked.js"
import { Editor } from "./editor.js"
import { type EventSource, Feed, type FeedOptions } from "./feed.js"
import { problemHeaders, requestProblem } from "./request-problem.js"
import { etagOf } from "./revision-etag.js"
import { type Answer, type Route, Router } from "./route.js"
import { clientRoutes } from "./routes/clients.js"
import { descriptionRoutes } from "./routes/description.js"
import { keyRoutes } from "./routes/keys.js"
import { overrideRoutes } from "./routes/overrides.js"
import { ruleRoutes } from "./routes/rules.js"
import { type Readiness, serviceRoutes } from "./routes/service.js"
import { type Watching, watchingRoutes } from "./routes/watching.js"
import { RuleChecker } from "./rule-checker.js"
import { StaticFiles } from "./static-files.js"
import type { TokenSpec } from "./tokens.js"

export interface ControlPlaneOptions {
  /** Counts what the service decides, and tells of it. */
  readonly watch: Watching & EventSource
  /** Who may ask. Without any, whoever is on this machine may do everything. */
  readonly tokens?: readonly TokenSpec[]
  /** A file that gets a line for every change. Default: the last 1,000 are held in memory. */
  readonly audit?: string | undefined
  /** A folder with the dashboard's files. */
  readonly dashboard?: string | undefined
  readonly readiness?: Readiness
  readonly version?: string
  /** Default: 256 KiB. */
  readonly maxBodyBytes?: number
  readonly events?: FeedOptions
  readonly clock?: Clock
  /** Told of every failure that is not the caller's mistake. */
  readonly onError?: (error: unknown) => void
}

/** Serves the control plane. */
export interface ControlPlane extends RequestListener {
  /** Ends live events, which would otherwise keep their connections open until the deadline. */
  close(): void
}

export function createControlPlane(core: Core, options: ControlPlaneOptions): ControlPlane {
  const { tokens = [], version = "0.0.0", maxBodyBytes = 262_144, onError = () => {} } = options
  const access = new Access(tokens, options.clock)
  const audit = new AuditLog(options.audit)
  const checker = new RuleChecker()
  const editor = new Editor({ rules: core.rules, audit, checker, clock: options.clock })
  const feed = new Feed(options.watch, options.events)
  const files = options.dashboard === undefined ? undefined : new StaticFiles(options.dashboard)
  const routes = [
    ...ruleRoutes(core, editor, checker),
    ...overrideRoutes(core, editor),
    ...clientRoutes(core, editor),
    ...keyRoutes(core, editor),
    ...watchingRoutes(options.watch, feed, audit),
    ...serviceRoutes(core, options.readiness, version),
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
    const sent =
      route.body === undefined
        ? { body: undefined, bodyBytes: 0 }
        : await readBody(request, route.body, maxBodyBytes)
    return await route.run({ ...asked, ...sent, query: checked })
  }

  const fail = (request: IncomingMessage, response: ServerResponse, error: unknown): void => {
    // Nobody is there any more to hear it.
    if (response.destroyed || (request.destroyed && !request.complete)) return
    const problem = requestProblem(error)
    if (problem.status >= 500 && problem.code !== "EVENTS_FULL") onError(error)
    if (response.headersSent) {
      response.destroy()
      return
    }
    // The rest of a body that nobody reads would be taken for the next request.
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
  return Object.assign(listener, { close: () => feed.close() })
}

/** What anyone may ask for has no actor, and asks for none. */
function admit(access: Access, request: IncomingMessage, { role }: Route) {
  if (role !== "anyone") return access.admit(request, role)
  access.admitAnyone(request)
  return { name: "anyone", role: "reader", address: request.socket.remoteAddress ?? "" } as const
}

async function fileAt(
  files: StaticFiles | undefined,
  path: string,
  { method }: IncomingMessage,
): Promise<Answer | undefined> {
  return method === "GET" || method === "HEAD" ? await files?.find(path) : undefined
}
