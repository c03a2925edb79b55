// The front handler: takes a request from its arrival to a denial, or to the upstream that answers it.

import type { Http2ServerRequest, Http2ServerResponse } from "node:http2"
import type { Socket } from "node:net"
import { canonicalPath, PROBLEM_CONTENT_TYPE, problemBody } from "sluice/http"
import { noProxies } from "sluice/internal"
import type { Http1Handler } from "../../http1/connection.js"
import type { Http1Request } from "../../http1/request.js"
import type { Http1Response } from "../../http1/response.js"
import type { Route, RouteTable } from "../routes/route.js"
import { answerEarly, answerProblem, type ClientAnswer } from "./client-answer.js"
import { ClientCounts } from "./client-counts.js"
import { type ClientRequest, hostOf, requestFault } from "./client-request.js"
import { Exchange } from "./exchange.js"
import { type Origin, originOf } from "./forwarded-headers.js"
import { Http1Answer } from "./http1-answer.js"
import { Http2Answer } from "./http2-answer.js"
import type { Admission, Limiting } from "./limiting.js"
import { type GatewayProblem, gatewayProblem, type OnUpstreamFailure, refusalProblems } from "./problems.js"
import { type GatewayWatch, RequestContext } from "./request-context.js"
import { bodyFraming, forwardedPath, hasUnknownExpectation, withQuery } from "./request-head.js"
import { EarlyBytes, endWith, endWithProblem, Upgrade } from "./upgrade.js"

export interface GatewayOptions {
  readonly routes: RouteTable
  /** Without it no request is limited. */
  readonly limiting?: Limiting | undefined
  readonly watch?: GatewayWatch | undefined
  /** Headers of one request over HTTP/2; a request with more is refused. Default: 128. */
  readonly maxHeaders?: number | undefined
  /** Upgraded connections open at once. Default: 10,000. */
  readonly maxUpgrades?: number | undefined
  /** The share of those that one client may have, from 0 to 1, but at least one. Default: 1. */
  readonly clientShare?: number | undefined
  /** Called when an upstream gave no answer, for the log. */
  readonly onUpstreamFailure?: OnUpstreamFailure | undefined
  /** Called for failures of the gateway itself. */
  readonly onError?: ((error: unknown) => void) | undefined
}

export interface Gateway extends Http1Handler {
  /** Answers a request over HTTP/2. */
  handleHttp2(request: Http2ServerRequest, response: Http2ServerResponse): void
  /** Upgraded connections that are open now, and those that ask to be. */
  readonly upgrades: number
}

const MAX_UPGRADES = 10_000
const MAX_HEADERS = 128

export function createGateway(options: GatewayOptions): Gateway {
  return new Front(options)
}

/** How the gateway answers a request, and forwards it. Requests and upgrades differ in this. */
interface Way {
  refuse(problem: GatewayProblem): void
  deny(admission: Admission): void
  forward(route: Route, path: string, origin: Origin): void
}

class Front implements Gateway {
  /** A client that ends its side has given up: the upstream's work for it ends too. */
  readonly endsWithClient = true
  readonly #options: GatewayOptions
  #upgrades = 0
  readonly #upgradesOf: ClientCounts

  constructor(options: GatewayOptions) {
    this.#options = options
    const { maxUpgrades = MAX_UPGRADES, clientShare = 1 } = options
    this.#upgradesOf = new ClientCounts(Math.max(1, Math.ceil(maxUpgrades * clientShare)))
  }

  get upgrades(): number {
    return this.#upgrades
  }

  handle(request: Http1Request, response: Http1Response): void {
    const call = this.#call(request, new Http1Answer(response))
    response.onOver = () => call.over()
    call.start()
  }

  handleHttp2(request: Http2ServerRequest, response: Http2ServerResponse): void {
    // The request of node:http2 has all that the gateway reads of one over HTTP/1.1.
    const call = this.#call(request as unknown as ClientRequest, new Http2Answer(request, response))
    response.on("close", () => call.over())
    call.start()
  }

  refusal(status: number): { contentType: string; body: string } {
    const problem = gatewayProblem(refusalProblems[status] ?? "REQUEST_INVALID")
    return { contentType: PROBLEM_CONTENT_TYPE, body: problemBody(problem) }
  }

  #call(request: ClientRequest, answer: ClientAnswer): Call {
    const { watch, onUpstreamFailure } = this.#options
    return new Call(this, new RequestContext(request, watch), answer, onUpstreamFailure)
  }

  upgrade(request: Http1Request, socket: Socket, head: Buffer): void {
    const { watch, maxUpgrades = MAX_UPGRADES, onUpstreamFailure } = this.#options
    const context = new RequestContext(request, watch)
    let upgrade: Upgrade | undefined
    let client: string | undefined
    const gone = new Gone()
    const early = new EarlyBytes(socket, head)
    this.#upgrades++
    socket.on("error", () => undefined)
    socket.on("close", () => {
      this.#upgrades--
      if (client !== undefined) this.#upgradesOf.leave(client)
      upgrade?.abandon()
      gone.tell()
      this.over(context)
    })
    const refuse = (problem: GatewayProblem): void => {
      const { status, bytes } = endWithProblem(socket, problem, context.ownHeaders())
      context.status = status
      context.bytesOut = bytes
    }
    // The body would be read as the other protocol, or as another request.
    const framing = bodyFraming(request)
    if (framing !== "none" && framing !== 0) {
      refuse("REQUEST_INVALID")
      return
    }
    const refuseFull = (): void => {
      context.error = "UPGRADES_FULL"
      refuse("UPGRADES_FULL")
    }
    if (this.#upgrades > maxUpgrades) {
      refuseFull()
      return
    }
    this.pass(context, gone, {
      refuse,
      deny: (admission) => {
        const { status, contentType, body } = admission.denied ?? noAnswer
        context.status = status
        context.bytesOut = endWith(socket, status, contentType, body, admission.headers)
      },
      forward: (route, path, origin) => {
        if (!this.#upgradesOf.enter(origin.client)) {
          refuseFull()
          return
        }
        client = origin.client
        upgrade = new Upgrade(context, socket, early, route, path, origin, onUpstreamFailure)
        upgrade.start()
      },
    })
  }

  /** A failure of the access log or the metrics must not fail the request. */
  over(context: RequestContext, now = performance.now()): void {
    try {
      context.over(now)
    } catch (error) {
      this.#options.onError?.(error)
    }
  }

  pass(context: RequestContext, gone: Gone, way: Way): void {
    try {
      this.#decide(context, gone, way)
    } catch (error) {
      this.#failed(way, error)
    }
  }

  /** Answers 500: the gateway itself failed. */
  #failed(way: Way, error: unknown): void {
    this.#options.onError?.(error)
    way.refuse("INTERNAL")
  }

  #decide(context: RequestContext, gone: Gone, way: Way): void {
    const { routes, limiting, maxHeaders = MAX_HEADERS } = this.#options
    const { request } = context
    const host = hostOf(request)
    context.host = host
    const origin = originOf(request, host ?? "", limiting?.trusted ?? noProxies)
    context.clientIp = origin.clientIp
    const fault = requestFault(request, host, maxHeaders)
    if (fault !== undefined) {
      way.refuse(fault)
      return
    }
    const { url } = request
    const target = limiting === undefined ? canonicalPath(url) : limiting.target(url)
    if (!target.ok) {
      way.refuse("PATH_INVALID")
      return
    }
    context.path = target.path
    const route = routes.find(host, target.path)
    context.route = route
    if (route === undefined) {
      way.refuse("ROUTE_UNKNOWN")
      return
    }
    const path = forwardedPath(target, route.stripPrefix)
    const forward = (): void => {
      if (hasUnknownExpectation(request)) way.refuse("EXPECTATION_FAILED")
      else way.forward(route, path, origin)
    }
    if (limiting === undefined) {
      forward()
      return
    }
    const admission = limiting.decide({
      method: request.method,
      host,
      path: withQuery(target.path, target.query),
      headers: request.headers,
      rawHeaders: request.rawHeaders,
      ip: origin.peer,
    })
    if (!(admission instanceof Promise)) {
      this.#admit(context, gone, way, admission, forward)
      return
    }
    admission
      .then((made) => this.#admit(context, gone, way, made, forward))
      .catch((error: unknown) => this.#failed(way, error))
  }

  #admit(context: RequestContext, gone: Gone, way: Way, admission: Admission, forward: () => void): void {
    context.admission = admission
    if (gone.isGone) {
      // The client has disconnected. Only its place in the delay queue has to be freed.
      if (admission.delayMs > 0) void admission.delay(AbortSignal.abort())
    } else if (!admission.allowed) way.deny(admission)
    else if (admission.delayMs === 0) forward()
    else this.#hold(context, gone, way, admission, forward)
  }

  #hold(context: RequestContext, gone: Gone, way: Way, admission: Admission, forward: () => void): void {
    const heldAt = performance.now()
    admission
      .delay(gone.signal)
      .then((isDue) => {
        context.queuedMs = performance.now() - heldAt
        if (isDue && !gone.isGone) forward()
      })
      .catch((error: unknown) => this.#failed(way, error))
  }
}

/** A request that is not an upgrade. */
class Call implements Way {
  readonly #front: Front
  readonly #context: RequestContext
  readonly #answer: ClientAnswer
  readonly #onFailure: OnUpstreamFailure | undefined
  readonly #gone = new Gone()
  #exchange: Exchange | undefined

  constructor(
    front: Front,
    context: RequestContext,
    answer: ClientAnswer,
    onFailure: OnUpstreamFailure | undefined,
  ) {
    this.#front = front
    this.#context = context
    this.#answer = answer
    this.#onFailure = onFailure
  }

  start(): void {
    this.#front.pass(this.#context, this.#gone, this)
  }

  over(now?: number): void {
    this.#exchange?.abandon()
    this.#gone.tell()
    this.#front.over(this.#context, now)
  }

  refuse(problem: GatewayProblem): void {
    answerProblem(this.#context, this.#answer, problem)
  }

  deny(admission: Admission): void {
    answerEarly(this.#context, this.#answer, admission.denied ?? noAnswer)
  }

  forward(route: Route, path: string, origin: Origin): void {
    this.#exchange = new Exchange(this.#context, this.#answer, route, path, origin, this.#onFailure)
    this.#exchange.start()
  }
}

/** Whether the client has disconnected. The signal is made when it is asked for. */
class Gone {
  #controller: AbortController | undefined
  isGone = false

  tell(): void {
    this.isGone = true
    this.#controller?.abort()
  }

  get signal(): AbortSignal {
    this.#controller ??= new AbortController()
    return this.#controller.signal
  }
}

/** The answer to a denial that brings none, which should not happen. */
const noAnswer = { status: 429, contentType: "text/plain", body: "" }
