// The front handler: one request from its arrival to a denial, or to the upstream that answers it.

import type { IncomingMessage, ServerResponse } from "node:http"
import type { Http2ServerRequest, Http2ServerResponse } from "node:http2"
import type { Duplex } from "node:stream"
import { canonicalPath } from "sluice/http"
import { noProxies } from "sluice/internal"
import type { Route, RouteTable } from "../routes/route.js"
import { answerEarly, answerProblem, type ClientAnswer } from "./client-answer.js"
import { ClientCounts } from "./client-counts.js"
import { type ClientRequest, isHttp2 } from "./client-request.js"
import { EarlyBytes } from "./early-bytes.js"
import { Exchange } from "./exchange.js"
import { type Origin, originOf } from "./forwarded-headers.js"
import { forwardedPath, withQuery } from "./forwarded-path.js"
import type { GatewayWatch } from "./gateway-watch.js"
import { Http2Answer } from "./http2-answer.js"
import type { Admission, Limiting } from "./limiting.js"
import { NodeAnswer } from "./node-answer.js"
import type { GatewayProblem } from "./problem.js"
import { endMalformed, endWith, endWithProblem } from "./raw-answer.js"
import { hostOf, requestFault } from "./request-check.js"
import { Visit } from "./request-context.js"
import { bodyFraming, hasUnknownExpectation } from "./request-head.js"
import { Upgrade } from "./upgrade.js"
import type { OnUpstreamFailure } from "./upstream-failure.js"

export interface GatewayOptions {
  readonly routes: RouteTable
  /** Without it nothing is limited. */
  readonly limiting?: Limiting | undefined
  readonly watch?: GatewayWatch | undefined
  /** Headers of one request. More are refused, and never left out. Default: 128. */
  readonly maxHeaders?: number | undefined
  /** Upgraded connections open at once. Default: 10,000. */
  readonly maxUpgrades?: number | undefined
  /** The part of those that one client may have, from 0 to 1, and at least one. Default: 1, all of them. */
  readonly clientShare?: number | undefined
  /** Told why an upstream gave no answer, for the log. */
  readonly onUpstreamFailure?: OnUpstreamFailure | undefined
  /** Told of what should never happen: a mistake of ours. */
  readonly onError?: ((error: unknown) => void) | undefined
}

/** A request that came in by another way than `node:http`. */
export interface Call {
  start(): void
  /** Its answer is out, or the client has gone: now, by `performance.now()`. */
  over(now?: number): void
}

export interface Gateway {
  /** For `request`, `checkContinue` and `checkExpectation`: the client is told to go on when the upstream says so. */
  handle(request: IncomingMessage | Http2ServerRequest, response: ServerResponse | Http2ServerResponse): void
  /** For a request that is read and answered without `node:http`. */
  call(request: ClientRequest, answer: ClientAnswer): Call
  /** For `upgrade`. */
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void
  /** For `connect`: refused. */
  connect(request: IncomingMessage, socket: Duplex): void
  /** For `clientError`: what is no HTTP is answered 400 and closed. */
  clientError(error: Error, socket: Duplex): void
  /** Upgraded connections open now, and those that ask to be. */
  readonly upgrades: number
}

const MOST_UPGRADES = 10_000
const MAX_HEADERS = 128

export function createGateway(options: GatewayOptions): Gateway {
  return new Front(options)
}

/** How one request is answered by us, and passed on: differs between a request and an upgrade. */
interface Way {
  refuse(problem: GatewayProblem): void
  deny(admission: Admission): void
  forward(route: Route, path: string, origin: Origin): void
}

class Front implements Gateway {
  readonly #options: GatewayOptions
  #upgrades = 0
  readonly #upgradesOf: ClientCounts

  constructor(options: GatewayOptions) {
    this.#options = options
    const { maxUpgrades = MOST_UPGRADES, clientShare = 1 } = options
    this.#upgradesOf = new ClientCounts(Math.max(1, Math.ceil(maxUpgrades * clientShare)))
    this.handle = this.handle.bind(this)
    this.upgrade = this.upgrade.bind(this)
    this.connect = this.connect.bind(this)
  }

  get upgrades(): number {
    return this.#upgrades
  }

  handle(
    givenRequest: IncomingMessage | Http2ServerRequest,
    givenResponse: ServerResponse | Http2ServerResponse,
  ): void {
    // The pair of `node:http2` looks like the one of `node:http` on purpose; where it does not, `isHttp2` tells.
    const request = givenRequest as IncomingMessage
    const response = givenResponse as ServerResponse
    const answer = isHttp2(request)
      ? new Http2Answer(givenRequest as Http2ServerRequest, givenResponse as Http2ServerResponse)
      : new NodeAnswer(request, response)
    const call = this.call(request, answer)
    response.on("close", () => call.over())
    call.start()
  }

  call(request: ClientRequest, answer: ClientAnswer): Call {
    const { watch, onUpstreamFailure } = this.#options
    return new AnsweredCall(this, new Visit(request, watch), answer, onUpstreamFailure)
  }

  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    const { watch, maxUpgrades = MOST_UPGRADES, onUpstreamFailure } = this.#options
    const visit = new Visit(request, watch)
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
      this.over(visit)
    })
    const refuse = (problem: GatewayProblem): void => {
      const { status, bytes } = endWithProblem(socket, problem, visit.ownHeaders())
      visit.status = status
      visit.bytesOut = bytes
    }
    // A body would be read as the other protocol, or as another request.
    const framing = bodyFraming(request)
    if (framing !== "none" && framing !== 0) {
      refuse("REQUEST_INVALID")
      return
    }
    const refuseFull = (): void => {
      visit.error = "UPGRADES_FULL"
      refuse("UPGRADES_FULL")
    }
    if (this.#upgrades > maxUpgrades) {
      refuseFull()
      return
    }
    this.pass(visit, gone, {
      refuse,
      deny: (admission) => {
        const { status, contentType, body } = admission.denied ?? noAnswer
        visit.status = status
        visit.bytesOut = endWith(socket, status, contentType, body, admission.headers)
      },
      forward: (route, path, origin) => {
        if (!this.#upgradesOf.enter(origin.client)) {
          refuseFull()
          return
        }
        client = origin.client
        upgrade = new Upgrade(visit, socket, early, route, path, origin, onUpstreamFailure)
        upgrade.start()
      },
    })
  }

  connect(request: IncomingMessage, socket: Duplex): void {
    const visit = new Visit(request, this.#options.watch)
    socket.on("error", () => undefined)
    socket.on("close", () => this.over(visit))
    visit.host = request.headers.host
    visit.status = endWithProblem(socket, "METHOD_NOT_ALLOWED").status
  }

  clientError(error: Error, socket: Duplex): void {
    endMalformed(error, socket)
  }

  /** Those who watch must not bring down what they watch. */
  over(visit: Visit, now = performance.now()): void {
    try {
      visit.over(now)
    } catch (error) {
      this.#options.onError?.(error)
    }
  }

  pass(visit: Visit, gone: Gone, way: Way): void {
    try {
      this.#decide(visit, gone, way)
    } catch (error) {
      this.#failed(way, error)
    }
  }

  /** A mistake of ours. */
  #failed(way: Way, error: unknown): void {
    this.#options.onError?.(error)
    way.refuse("INTERNAL")
  }

  #decide(visit: Visit, gone: Gone, way: Way): void {
    const { routes, limiting, maxHeaders = MAX_HEADERS } = this.#options
    const { request } = visit
    const host = hostOf(request)
    visit.host = host
    const origin = originOf(request, host ?? "", limiting?.trusted ?? noProxies)
    visit.clientIp = origin.clientIp
    const fault = requestFault(request, host, maxHeaders)
    if (fault !== undefined) {
      way.refuse(fault)
      return
    }
    const url = request.url ?? ""
    const target = limiting === undefined ? canonicalPath(url) : limiting.target(url)
    if (!target.ok) {
      way.refuse("PATH_INVALID")
      return
    }
    visit.path = target.path
    const route = routes.find(host, target.path)
    visit.route = route
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
      this.#admit(visit, gone, way, admission, forward)
      return
    }
    admission
      .then((made) => this.#admit(visit, gone, way, made, forward))
      .catch((error: unknown) => this.#failed(way, error))
  }

  #admit(visit: Visit, gone: Gone, way: Way, admission: Admission, forward: () => void): void {
    visit.admission = admission
    if (gone.isGone) {
      // Nothing is left to be done for it, but its place in a queue must be freed.
      if (admission.delayMs > 0) void admission.delay(AbortSignal.abort())
    } else if (!admission.allowed) way.deny(admission)
    else if (admission.delayMs === 0) forward()
    else this.#hold(visit, gone, way, admission, forward)
  }

  #hold(visit: Visit, gone: Gone, way: Way, admission: Admission, forward: () => void): void {
    const heldAt = performance.now()
    admission
      .delay(gone.signal)
      .then((isDue) => {
        visit.queuedMs = performance.now() - heldAt
        if (isDue && !gone.isGone) forward()
      })
      .catch((error: unknown) => this.#failed(way, error))
  }
}

/** A request that is answered as one: not an upgrade. */
class AnsweredCall implements Call, Way {
  readonly #front: Front
  readonly #visit: Visit
  readonly #answer: ClientAnswer
  readonly #onFailure: OnUpstreamFailure | undefined
  readonly #gone = new Gone()
  #exchange: Exchange | undefined

  constructor(front: Front, visit: Visit, answer: ClientAnswer, onFailure: OnUpstreamFailure | undefined) {
    this.#front = front
    this.#visit = visit
    this.#answer = answer
    this.#onFailure = onFailure
  }

  start(): void {
    this.#front.pass(this.#visit, this.#gone, this)
  }

  over(now?: number): void {
    this.#exchange?.abandon()
    this.#gone.tell()
    this.#front.over(this.#visit, now)
  }

  refuse(problem: GatewayProblem): void {
    answerProblem(this.#visit, this.#answer, problem)
  }

  deny(admission: Admission): void {
    answerEarly(this.#visit, this.#answer, admission.denied ?? noAnswer)
  }

  forward(route: Route, path: string, origin: Origin): void {
    this.#exchange = new Exchange(this.#visit, this.#answer, route, path, origin, this.#onFailure)
    this.#exchange.start()
  }
}

/** Whether the client has gone; a signal only for who asks for one. */
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

/** A denial without an answer of its own cannot be; if it were, the client would still be told that it is one. */
const noAnswer = { status: 429, contentType: "text/plain", body: "" }
