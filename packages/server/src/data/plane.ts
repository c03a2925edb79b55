// The HTTP side of the data plane: which path is what.

import type { IncomingMessage, RequestListener, ServerResponse } from "node:http"
import { SluiceError } from "sluice"
import type { Core } from "../core.js"
import { type HeaderList, isGone, sendJson, sendProblem } from "../http/answer.js"
import { parseObject, readBody } from "../http/body.js"
import { requestProblem } from "../http/request-problem.js"
import { authRoute } from "./auth.js"
import { batchRoute } from "./batch.js"
import { checkRoute, explainRoute, peekRoute, refundRoute, resetRoute } from "./check.js"

export interface DataPlaneOptions {
  /** Whether traffic should come here, and what `/readyz` says of it. */
  readonly readiness?: Readiness
  /** Answers `POST /json`, envoyproxy/ratelimit's HTTP form. */
  readonly json?: RequestListener
  /** Whose forwarded headers `/v1/auth` believes, besides the proxies that the rule set names. */
  readonly trustedProxies?: readonly string[]
  /** Default: 256 KiB. */
  readonly maxBodyBytes?: number
  /** Checks in one batch. Default: 1,000. */
  readonly maxBatch?: number
  /** Told of every failure that is not the caller's mistake. */
  readonly onError?: (error: unknown) => void
}

interface Readiness {
  readonly isReady: boolean
  report(core: Core): object
}

/** What a route has to know of a request. The body is there already, if the route takes one. */
export interface Asked {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  /** What follows the `?`. */
  readonly query: string
}

/** Answers a body. What it throws, or rejects with, is answered as a problem. */
export type BodyRoute = (asked: Asked, body: Record<string, unknown>) => void | Promise<void>
export type PlainRoute = (asked: Asked) => void | Promise<void>

interface Route {
  /** Undefined for any. */
  readonly methods: readonly string[] | undefined
  readonly run: PlainRoute
}

const POST = ["POST"]
const LOOK = ["GET", "HEAD"]

/** Serves the data plane: checks, auth subrequests, health. */
export function createDataPlane(core: Core, options: DataPlaneOptions = {}): RequestListener {
  const { maxBodyBytes = 262_144, maxBatch = 1_000, readiness, json, onError = () => {} } = options

  const fail = ({ request, response }: Asked, error: unknown): void => {
    if (isGone(request, response)) return
    const problem = requestProblem(error)
    if (problem.status >= 500) onError(error)
    if (response.headersSent) {
      response.destroy()
      return
    }
    sendProblem(response, problem, headersOf(error, request))
  }
  /** Runs what may throw or reject, without a promise where there is none. */
  const attempt = (asked: Asked, run: () => void | Promise<void>): void => {
    try {
      run()?.catch((error: unknown) => fail(asked, error))
    } catch (error) {
      fail(asked, error)
    }
  }
  const withBody =
    (example: string, route: BodyRoute): PlainRoute =>
    (asked) =>
      readBody(
        asked.request,
        maxBodyBytes,
        (body) => attempt(asked, () => route(asked, parseObject(body, example))),
        (error) => fail(asked, error),
      )

  const aboutRequest = '{"method": "GET", "path": "/v1/items", "ip": "192.0.2.1"}'
  const aboutKey = '{"rule": "per-user", "key": "user:42"}'
  const routes = new Map<string, Route>([
    ["/v1/check", { methods: POST, run: withBody(aboutRequest, checkRoute(core)) }],
    ["/v1/check/batch", { methods: POST, run: withBody('{"checks": […]}', batchRoute(core, maxBatch)) }],
    ["/v1/peek", { methods: POST, run: withBody(aboutRequest, peekRoute(core)) }],
    ["/v1/refund", { methods: POST, run: withBody(aboutKey, refundRoute(core)) }],
    ["/v1/reset", { methods: POST, run: withBody(aboutKey, resetRoute(core)) }],
    ["/v1/explain", { methods: POST, run: withBody(aboutRequest, explainRoute(core)) }],
    ["/v1/auth", { methods: undefined, run: authRoute(core, options.trustedProxies) }],
    ["/livez", { methods: LOOK, run: ({ response }) => sendJson(response, '{"status":"ok"}') }],
    ["/readyz", { methods: LOOK, run: ({ response }) => sendReadiness(core, readiness, response) }],
  ])
  if (json !== undefined)
    routes.set("/json", { methods: POST, run: ({ request, response }) => json(request, response) })

  return (request, response) => {
    const { url = "/" } = request
    const mark = url.indexOf("?")
    const asked =
      mark < 0 ? { request, response, query: "" } : { request, response, query: url.slice(mark + 1) }
    attempt(asked, () => routeOf(routes, mark < 0 ? url : url.slice(0, mark), request.method).run(asked))
  }
}

function routeOf(routes: ReadonlyMap<string, Route>, path: string, method = ""): Route {
  const route = routes.get(path)
  if (route === undefined) {
    throw new SluiceError("PATH_UNKNOWN", {
      place: "path",
      expected: `must be one of ${[...routes.keys()].join(", ")}`,
      found: path,
    })
  }
  if (route.methods === undefined || route.methods.includes(method)) return route
  throw new MethodNotAllowed(path, route.methods, method)
}

class MethodNotAllowed extends SluiceError {
  readonly allow: string

  constructor(path: string, methods: readonly string[], found: string) {
    super("METHOD_NOT_ALLOWED", { place: path, expected: `takes ${methods.join(" and ")}`, found })
    this.allow = methods.join(", ")
  }
}

function headersOf(error: unknown, request: IncomingMessage): HeaderList {
  if (error instanceof MethodNotAllowed) return ["allow", error.allow]
  // The rest of a body that nobody reads would be taken for the next request.
  return request.complete ? [] : ["connection", "close"]
}

function sendReadiness(core: Core, readiness: Readiness | undefined, response: ServerResponse): void {
  const report = readiness?.report(core) ?? { status: "ready", revision: core.engine.revision }
  sendJson(response, JSON.stringify(report), readiness?.isReady === false ? 503 : 200)
}
