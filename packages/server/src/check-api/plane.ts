// The HTTP side of the data plane: which path is what.

import type { IncomingMessage, RequestListener, ServerResponse } from "node:http"
import { SluiceError } from "sluice"
import type { Core } from "../core.js"
import { type Answer, type HeaderList, isGone, problemAnswer, send, sendJson } from "../http/answer.js"
import { parseObject, readBody } from "../http/body.js"
import { requestProblem } from "../http/request-problem.js"
import type { DirectAnswer } from "../http1/direct-lane.js"
import { DataAccess, type DataAccessOptions } from "./access.js"
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
  /** Who may ask, and who may give back and forget charges. */
  readonly access?: DataAccessOptions
  /** Whether there are `/v1/refund` and `/v1/reset`. Default: true. */
  readonly refundAndReset?: boolean
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

export interface DataPlane {
  readonly app: RequestListener
  /** The questions that come a hundred thousand times a second, answered without a request and a response. */
  readonly direct: DirectAnswer
}

/** What a route has to know of a request. */
export interface Asked {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  /** What follows the `?`. */
  readonly query: string
}

/** Answers a body, whatever brought it. What it throws, or rejects with, is answered as a problem. */
export type BodyRoute = (query: string, body: Record<string, unknown>) => Answer | Promise<Answer>
export type PlainRoute = (asked: Asked) => void | Promise<void>

interface Route {
  /** Undefined for any. */
  readonly methods: readonly string[] | undefined
  /** Throws when this request may not. */
  readonly admit: (request: IncomingMessage) => void
  readonly run: PlainRoute
}

interface BodyRouteAt {
  readonly path: string
  /** What a body looks like, for those who send something else. */
  readonly example: string
  readonly answer: BodyRoute
  /** Gives back or forgets charges. */
  readonly isChange?: boolean
}

const POST = ["POST"]
const LOOK = ["GET", "HEAD"]

/** Serves the data plane: checks, auth subrequests, health. */
export function createDataPlane(core: Core, options: DataPlaneOptions = {}): DataPlane {
  const { maxBodyBytes = 262_144, readiness, json, onError = () => {} } = options
  const access = new DataAccess(options.access ?? {})
  const bodyRoutes = bodyRoutesOf(core, options.maxBatch ?? 1_000).filter(
    ({ isChange }) => !isChange || options.refundAndReset !== false,
  )
  const mayAsk = (request: IncomingMessage) => access.admit(request)
  const mayChange = (request: IncomingMessage) => access.admitChange(request)
  // Trusted proxies only; and what the browser of a proxy's client has sent says nothing of the proxy.
  const anyone = () => {}

  const problemOf = (error: unknown, headers?: HeaderList): Answer => {
    const problem = requestProblem(error)
    if (problem.status >= 500) onError(error)
    return problemAnswer(problem, headers)
  }
  const fail = ({ request, response }: Asked, error: unknown): void => {
    if (isGone(request, response)) return
    if (response.headersSent) {
      onError(error)
      response.destroy()
      return
    }
    send(response, problemOf(error, headersOf(error, request)))
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
    ({ example, answer }: BodyRouteAt): PlainRoute =>
    (asked) =>
      readBody(
        asked.request,
        maxBodyBytes,
        (body) =>
          attempt(asked, () => {
            const given = answer(asked.query, parseObject(body, example))
            return given instanceof Promise
              ? given.then((made) => send(asked.response, made))
              : send(asked.response, given)
          }),
        (error) => fail(asked, error),
      )

  const bodyRouteAt = (route: BodyRouteAt): Route => ({
    methods: POST,
    admit: route.isChange ? mayChange : mayAsk,
    run: withBody(route),
  })

  const routes = new Map<string, Route>([
    ...bodyRoutes.map((route) => [route.path, bodyRouteAt(route)] as const),
    ["/v1/auth", { methods: undefined, admit: anyone, run: authRoute(core, options.trustedProxies) }],
    [
      "/livez",
      { methods: LOOK, admit: anyone, run: ({ response }) => sendJson(response, '{"status":"ok"}') },
    ],
    [
      "/readyz",
      { methods: LOOK, admit: anyone, run: ({ response }) => sendReadiness(core, readiness, response) },
    ],
  ])
  if (json !== undefined) {
    const run: PlainRoute = ({ request, response }) => json(request, response)
    routes.set("/json", { methods: POST, admit: mayAsk, run })
  }

  // Where more than the body matters, the whole request is looked at.
  const directRoutes = new Map(
    access.requiresToken
      ? []
      : bodyRoutes.filter(({ isChange }) => !isChange).map((route) => [route.path, route]),
  )
  return {
    app(request, response) {
      const [path, query] = split(request.url ?? "/")
      const asked = { request, response, query }
      attempt(asked, () => {
        const route = routeOf(routes, path, request.method)
        route.admit(request)
        return route.run(asked)
      })
    },
    direct(target, body) {
      const [path, query] = split(target)
      const route = directRoutes.get(path)
      if (route === undefined || body.length > maxBodyBytes) return undefined
      try {
        const given = route.answer(query, parseObject(body, route.example))
        return given instanceof Promise ? given.catch(problemOf) : given
      } catch (error) {
        return problemOf(error)
      }
    },
  }
}

function bodyRoutesOf(core: Core, maxBatch: number): readonly BodyRouteAt[] {
  const aboutRequest = '{"method": "GET", "path": "/v1/items", "ip": "192.0.2.1"}'
  const aboutKey = '{"rule": "per-user", "key": "user:42"}'
  return [
    { path: "/v1/check", example: aboutRequest, answer: checkRoute(core) },
    { path: "/v1/check/batch", example: '{"checks": […]}', answer: batchRoute(core, maxBatch) },
    { path: "/v1/peek", example: aboutRequest, answer: peekRoute(core) },
    { path: "/v1/refund", example: aboutKey, answer: refundRoute(core), isChange: true },
    { path: "/v1/reset", example: aboutKey, answer: resetRoute(core), isChange: true },
    { path: "/v1/explain", example: aboutRequest, answer: explainRoute(core) },
  ]
}

/** A path, and what follows the `?`. */
function split(target: string): [path: string, query: string] {
  const mark = target.indexOf("?")
  return mark < 0 ? [target, ""] : [target.slice(0, mark), target.slice(mark + 1)]
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
  const asksFor =
    error instanceof SluiceError && error.code === "TOKEN_REQUIRED"
      ? ["www-authenticate", 'Bearer realm="sluice"']
      : []
  // The rest of a body that nobody reads would be taken for the next request.
  return request.complete ? asksFor : [...asksFor, "connection", "close"]
}

function sendReadiness(core: Core, readiness: Readiness | undefined, response: ServerResponse): void {
  const report = readiness?.report(core) ?? { status: "ready", revision: core.engine.revision }
  sendJson(response, JSON.stringify(report), readiness?.isReady === false ? 503 : 200)
}
