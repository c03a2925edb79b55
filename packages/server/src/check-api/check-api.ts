// The check API over HTTP: checks, auth subrequests, health. Finds the route of a request, reads its body, sends the answer.

import { SluiceError } from "sluice"
import type { Core } from "../core.js"
import { type Answer, jsonAnswer, problemAnswer, requestProblem } from "../http/answer.js"
import { MAX_DISCARDED_BYTES, parseObject, tooLarge } from "../http/body.js"
import type { Http1Handler } from "../http1/connection.js"
import { fieldLines } from "../http1/fields.js"
import type { BodyStream, Http1Request } from "../http1/request.js"
import type { Http1Response } from "../http1/response.js"
import { Access, type AccessOptions } from "./access.js"
import { authRoute } from "./auth.js"
import { batchRoute } from "./batch.js"
import { checkRoute, explainRoute, peekRoute, refundRoute, resetRoute } from "./check.js"
import { acquireRoute, extendRoute, releaseRoute } from "./hold.js"
import { describeCheckApi } from "./openapi.js"
import { reserveRoute, settleRoute } from "./reservation.js"
import type { Asked, JsonRoute, RequestRoute } from "./route.js"

export interface CheckApiOptions {
  /** Whether traffic should come here, and what `/readyz` says of it. */
  readonly readiness?: Readiness
  /** Answers `POST /json`, envoyproxy/ratelimit's HTTP form. */
  readonly json?: ((body: Buffer) => Answer | Promise<Answer>) | undefined
  /** Whose forwarded headers `/v1/auth` believes, besides the proxies that the rule set names. */
  readonly trustedProxies?: readonly string[]
  /** Who may ask, and who may give back and forget charges. */
  readonly access?: AccessOptions
  /** Whether `/v1/refund` and `/v1/reset` exist. Default: true. */
  readonly refundAndReset?: boolean
  /** Default: 256 KiB. */
  readonly maxBodyBytes?: number
  /** Checks in one batch. Default: 1,000. */
  readonly maxBatch?: number
  /** The version that `/openapi.json` names. Default: 0.0.0. */
  readonly version?: string
  /** Receives every failure that is not the caller's mistake. */
  readonly onError?: (error: unknown) => void
}

interface Readiness {
  readonly isReady: boolean
  report(core: Core): object
}

interface Route {
  /** Undefined for any. */
  readonly methods: readonly string[] | undefined
  /** Throws when the sender of this request may not use the route. */
  readonly admit: (request: Http1Request) => void
  readonly readsBody: boolean
  readonly answer: RequestRoute
}

interface JsonRouteAt {
  readonly path: string
  /** What a body looks like, for callers that send something else. */
  readonly example: string
  readonly answer: JsonRoute
  /** Whether it refunds or resets. */
  readonly isChange?: boolean
}

const POST = ["POST"]
const LOOK = ["GET", "HEAD"]
const EMPTY = Buffer.alloc(0)

export function createCheckApi(core: Core, options: CheckApiOptions = {}): Http1Handler {
  return new CheckApi(core, options)
}

class CheckApi implements Http1Handler {
  /** A client that ends its side still hears its answer, which takes no longer than a call to the store. */
  readonly endsWithClient = false
  readonly #routes: ReadonlyMap<string, Route>
  readonly #maxBodyBytes: number
  readonly #onError: (error: unknown) => void

  constructor(core: Core, options: CheckApiOptions) {
    this.#routes = routesOf(core, options)
    this.#maxBodyBytes = options.maxBodyBytes ?? 262_144
    this.#onError = options.onError ?? (() => {})
  }

  handle(request: Http1Request, response: Http1Response): void {
    const { url, method, bodyStream } = request
    const mark = url.indexOf("?")
    const path = mark < 0 ? url : url.slice(0, mark)
    const query = mark < 0 ? "" : url.slice(mark + 1)
    try {
      const route = routeOf(this.#routes, path, method)
      route.admit(request)
      const answer = (body: Buffer): void => this.#answer(route, { request, query, body }, response)
      if (!route.readsBody) answer(EMPTY)
      else if (bodyStream === undefined) answer(this.#checked(request.body ?? EMPTY))
      else this.#readBody(request, bodyStream, response, answer)
    } catch (error) {
      send(response, this.#problem(error))
    }
  }

  #checked(body: Buffer): Buffer {
    if (body.length > this.#maxBodyBytes) throw tooLarge(this.#maxBodyBytes)
    return body
  }

  /** Reads a body that did not come with its head. A client that goes away before its end gets no answer. */
  #readBody(
    { framing, expectsContinue }: Http1Request,
    stream: BodyStream,
    response: Http1Response,
    answer: (body: Buffer) => void,
  ): void {
    const maxBytes = this.#maxBodyBytes
    // What is only somewhat too large is read to its end: a client that is still sending may not see the answer.
    if (typeof framing === "number" && framing > MAX_DISCARDED_BYTES) throw tooLarge(maxBytes)
    if (expectsContinue) response.interim(100)
    const chunks: Buffer[] = []
    let size = 0
    let isOver = false
    const finish = (): void => {
      if (isOver) return
      isOver = true
      if (size > maxBytes) send(response, this.#problem(tooLarge(maxBytes)))
      else answer(Buffer.concat(chunks))
    }
    stream.on("end", finish).on("data", (chunk: Buffer) => {
      size += chunk.length
      if (size > MAX_DISCARDED_BYTES) finish()
      else if (size <= maxBytes) chunks.push(chunk)
    })
  }

  #answer(route: Route, asked: Asked, response: Http1Response): void {
    try {
      const answer = route.answer(asked)
      if (!(answer instanceof Promise)) send(response, answer)
      else
        answer.then(
          (made) => send(response, made),
          (error: unknown) => send(response, this.#problem(error)),
        )
    } catch (error) {
      send(response, this.#problem(error))
    }
  }

  #problem(error: unknown): Answer {
    const problem = requestProblem(error)
    if (problem.status >= 500) this.#onError(error)
    return problemAnswer(problem, headersOf(error))
  }
}

function send(response: Http1Response, { status, type, body, headers }: Answer): void {
  response.whole(status, `${fieldLines(headers)}content-type: ${type}\r\ncache-control: no-store\r\n`, body)
}

function routesOf(core: Core, options: CheckApiOptions): Map<string, Route> {
  const { readiness, json, trustedProxies, version = "0.0.0" } = options
  const access = new Access(options.access ?? {})
  const mayAsk = (request: Http1Request) => access.admit(request)
  const mayChange = (request: Http1Request) => access.admitChange(request)
  // `/v1/auth` trusts the proxies that the rule set names. The headers of a proxy's client say nothing of the proxy.
  const anyone = () => {}
  const routes = new Map<string, Route>()
  for (const { path, example, answer, isChange = false } of jsonRoutesOf(core, options.maxBatch ?? 1_000)) {
    if (isChange && options.refundAndReset === false) continue
    routes.set(path, {
      methods: POST,
      admit: isChange ? mayChange : mayAsk,
      readsBody: true,
      answer: ({ query, body }) => answer(query, parseObject(body, example)),
    })
  }
  const look = (answer: () => Answer): Route => ({ methods: LOOK, admit: anyone, readsBody: false, answer })
  routes.set("/v1/auth", {
    methods: undefined,
    admit: anyone,
    readsBody: false,
    answer: authRoute(core, trustedProxies),
  })
  routes.set(
    "/livez",
    look(() => jsonAnswer('{"status":"ok"}')),
  )
  routes.set(
    "/readyz",
    look(() => readinessAnswer(core, readiness)),
  )
  routes.set(
    "/openapi.json",
    look(() => jsonAnswer(describeCheckApi(version))),
  )
  if (json !== undefined)
    routes.set("/json", { methods: POST, admit: mayAsk, readsBody: true, answer: ({ body }) => json(body) })
  return routes
}

function jsonRoutesOf(core: Core, maxBatch: number): readonly JsonRouteAt[] {
  const aboutRequest = '{"method": "GET", "path": "/v1/items", "ip": "192.0.2.1"}'
  const aboutKey = '{"rule": "per-user", "key": "user:42"}'
  const aboutHold = '{"hold": "hold_…"}'
  return [
    { path: "/v1/check", example: aboutRequest, answer: checkRoute(core) },
    { path: "/v1/check/batch", example: '{"checks": […]}', answer: batchRoute(core, maxBatch) },
    { path: "/v1/peek", example: aboutRequest, answer: peekRoute(core) },
    { path: "/v1/refund", example: aboutKey, answer: refundRoute(core), isChange: true },
    { path: "/v1/reset", example: aboutKey, answer: resetRoute(core), isChange: true },
    { path: "/v1/acquire", example: aboutRequest, answer: acquireRoute(core) },
    { path: "/v1/release", example: aboutHold, answer: releaseRoute(core) },
    { path: "/v1/extend", example: aboutHold, answer: extendRoute(core) },
    { path: "/v1/reserve", example: aboutRequest, answer: reserveRoute(core) },
    {
      path: "/v1/settle",
      example: '{"reservation": "reservation_…", "cost": 120}',
      answer: settleRoute(core),
    },
    { path: "/v1/explain", example: aboutRequest, answer: explainRoute(core) },
  ]
}

function routeOf(routes: ReadonlyMap<string, Route>, path: string, method: string): Route {
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

function headersOf(error: unknown): readonly string[] {
  if (error instanceof MethodNotAllowed) return ["allow", error.allow]
  const isUnknown = error instanceof SluiceError && error.code === "TOKEN_REQUIRED"
  return isUnknown ? ["www-authenticate", 'Bearer realm="sluice"'] : []
}

function readinessAnswer(core: Core, readiness: Readiness | undefined): Answer {
  const report = readiness?.report(core) ?? { status: "ready", revision: core.engine.revision }
  return jsonAnswer(JSON.stringify(report), readiness?.isReady === false ? 503 : 200)
}
