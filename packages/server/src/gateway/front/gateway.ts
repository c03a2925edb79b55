// The front handler: takes a request from its arrival to a denial, or to the upstream that answers it.

import type { Http2ServerRequest, Http2ServerResponse } from "node:http2"
import type { Socket } from "node:net"
import { canonicalPath, type DeniedAnswer } from "sluice/http"
import { noProxies } from "sluice/internal"
import type { RuleRequest } from "sluice/rules"
import { HeldBytes } from "../../held-bytes.js"
import type { Http1Handler } from "../../http1/connection.js"
import type { Http1Request } from "../../http1/request.js"
import type { Http1Response } from "../../http1/response.js"
import type { RouteTable } from "../routes/route.js"
import { BodyStart } from "./body-start.js"
import {
  answerProblem,
  answerWhole,
  type ClientAnswer,
  Http1Answer,
  type OwnAnswer,
} from "./client-answer.js"
import { ClientCounts } from "./client-counts.js"
import {
  bodyFraming,
  bodyOf,
  type ClientRequest,
  expectsContinue,
  hasUnknownExpectation,
  hostOf,
  isBodiless,
  requestFault,
} from "./client-request.js"
import { Exchange } from "./exchange.js"
import { identify } from "./forwarded-headers.js"
import { Http2Answer } from "./http2-answer.js"
import type { Admission, Limiting } from "./limiting.js"
import { type GatewayProblem, type OnUpstreamFailure, refusalAnswer } from "./problems.js"
import { type Destination, type Forwarding, type GatewayWatch, RequestContext } from "./request-context.js"
import { Upgrade, UpgradingClient } from "./upgrade.js"

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

const MAX_UPGRADES = 10_000
const MAX_HEADERS = 128

/** What is needed to answer a request that has arrived, or to forward it. */
interface Arrival {
  readonly context: RequestContext
  readonly answer: OwnAnswer
  /** Makes what forwards the request. Undefined when it has answered the request instead. */
  readonly forward: (destination: Destination) => Forwarding | undefined
}

export class Gateway implements Http1Handler {
  /** A client that ends its side has given up: the upstream's work for it ends too. */
  readonly endsWithClient = true
  readonly #options: GatewayOptions
  readonly #upgradesOf: ClientCounts
  /** The bodies that were read for a decision. */
  readonly #heldBodies = new HeldBytes()
  #upgrades = 0

  constructor(options: GatewayOptions) {
    this.#options = options
    const { maxUpgrades = MAX_UPGRADES, clientShare = 1 } = options
    this.#upgradesOf = new ClientCounts(Math.max(1, Math.ceil(maxUpgrades * clientShare)))
  }

  /** Upgraded connections that are open now, and those that ask to be. */
  get upgrades(): number {
    return this.#upgrades
  }

  /** Answers a request over HTTP/1.1. */
  handle(request: Http1Request, response: Http1Response): void {
    const context = new RequestContext(request, this.#options.watch)
    response.onOver = () => this.#over(context)
    this.#serve(context, new Http1Answer(response))
  }

  /** Answers a request over HTTP/2. */
  handleHttp2(request: Http2ServerRequest, response: Http2ServerResponse): void {
    // The request of node:http2 has all that the gateway reads of one over HTTP/1.1.
    const context = new RequestContext(request as unknown as ClientRequest, this.#options.watch)
    response.on("close", () => this.#over(context))
    this.#serve(context, new Http2Answer(request, response))
  }

  /** The answer to bytes that are not a valid request. */
  refusal(status: number): DeniedAnswer {
    return refusalAnswer(status)
  }

  #serve(context: RequestContext, answer: ClientAnswer): void {
    const { onUpstreamFailure } = this.#options
    const forward = (destination: Destination) =>
      new Exchange(context, answer, destination, onUpstreamFailure)
    this.#admit({ context, answer, forward })
  }

  /** Takes over the connection of a client that asks to speak another protocol. */
  upgrade(request: Http1Request, socket: Socket, early: Buffer): void {
    const { watch, maxUpgrades = MAX_UPGRADES, onUpstreamFailure } = this.#options
    const context = new RequestContext(request, watch)
    const client = new UpgradingClient(socket, request.method, early)
    let counted: string | undefined
    this.#upgrades++
    socket.on("error", () => undefined)
    socket.on("close", () => {
      this.#upgrades--
      if (counted !== undefined) this.#upgradesOf.leave(counted)
      this.#over(context)
    })
    const refuseFull = (): undefined => {
      context.error = "UPGRADES_FULL"
      answerProblem(context, client, "UPGRADES_FULL")
    }
    const forward = (destination: Destination): Upgrade | undefined => {
      const { key } = destination.client
      if (!this.#upgradesOf.enter(key)) return refuseFull()
      counted = key
      return new Upgrade(context, client, destination, onUpstreamFailure)
    }
    // The body would be read as the other protocol, or as another request.
    if (!isBodiless(bodyFraming(request))) answerProblem(context, client, "REQUEST_INVALID")
    else if (this.#upgrades > maxUpgrades) refuseFull()
    else this.#admit({ context, answer: client, forward })
  }

  /** A failure of the access log or the metrics must not fail the request. */
  #over(context: RequestContext): void {
    try {
      context.over()
    } catch (error) {
      this.#options.onError?.(error)
    }
  }

  /** Refuses, denies, delays or forwards a request. */
  #admit(arrival: Arrival): void {
    const { context, answer } = arrival
    try {
      const destination = this.#destinationOf(context)
      if (typeof destination === "string") {
        answerProblem(context, answer, destination)
        return
      }
      const question = this.#question(context, destination)
      if (this.#options.limiting?.readsBody(question) === true)
        void this.#admitByBody(arrival, destination, question)
      else this.#decide(arrival, destination, question)
    } catch (error) {
      this.#fail(arrival, error)
    }
  }

  #decide(arrival: Arrival, destination: Destination, question: RuleRequest): void {
    const admission = this.#options.limiting?.decide(question)
    if (admission instanceof Promise)
      admission
        .then((made) => this.#follow(arrival, destination, made))
        .catch((error: unknown) => this.#fail(arrival, error))
    else this.#follow(arrival, destination, admission)
  }

  /** Decides when the body has arrived, or as much of it as rules look at. */
  async #admitByBody(arrival: Arrival, destination: Destination, question: RuleRequest): Promise<void> {
    const { context } = arrival
    const { request } = context
    try {
      let { body } = request
      // A client that waits for 100 Continue sends its body when the upstream has been asked.
      if (body === undefined && !isBodiless(bodyFraming(request)) && !expectsContinue(request)) {
        context.bodyStart = new BodyStart(bodyOf(request), bodyFraming(request), this.#heldBodies)
        body = await context.bodyStart.read()
        // The client has disconnected: nothing is charged.
        if (body === undefined || context.isOver) return
      }
      this.#decide(arrival, destination, { ...question, body })
    } catch (error) {
      this.#fail(arrival, error)
    }
  }

  /** Answers 500: the gateway itself failed. */
  #fail({ context, answer }: Arrival, error: unknown): void {
    this.#options.onError?.(error)
    answerProblem(context, answer, "INTERNAL")
  }

  /** Validates a request and finds its route. Returns the problem of a request that has none. */
  #destinationOf(context: RequestContext): Destination | GatewayProblem {
    const { routes, limiting, maxHeaders = MAX_HEADERS } = this.#options
    const { request } = context
    const host = hostOf(request)
    context.host = host
    const client = identify(request, host ?? "", limiting?.trusted ?? noProxies)
    context.clientIp = client.ip
    const fault = requestFault(request, host, maxHeaders)
    if (fault !== undefined) return fault
    const target = limiting === undefined ? canonicalPath(request.url) : limiting.target(request.url)
    if (!target.ok) return "PATH_INVALID"
    const { path, query } = target
    context.path = path
    const route = routes.find(host, path)
    context.route = route
    if (route === undefined) return "ROUTE_UNKNOWN"
    const upstreamPath = withQuery(stripped(path, route.stripPrefix), query)
    return { route, path: withQuery(path, query), upstreamPath, client }
  }

  /** What the rules are asked about a request. */
  #question({ request, host }: RequestContext, { path, client }: Destination): RuleRequest {
    return {
      method: request.method,
      host,
      path,
      headers: request.headers,
      rawHeaders: request.rawHeaders,
      ip: client.peer,
    }
  }

  /** Does what the rules have decided. */
  #follow(arrival: Arrival, destination: Destination, admission: Admission | undefined): void {
    const { context, answer } = arrival
    context.admission = admission
    if (admission === undefined) this.#forward(arrival, destination)
    else if (context.isOver) {
      // The client has disconnected. Its place in the delay queue, and what it holds, have to be freed.
      if (admission.delayMs > 0) void admission.delay(AbortSignal.abort())
      if (admission.allowed) admission.settle("aborted")
    } else if (!admission.allowed) answerWhole(context, answer, admission.denied ?? noAnswer)
    else if (admission.delayMs === 0) this.#forward(arrival, destination)
    else this.#delay(arrival, destination, admission)
  }

  #delay(arrival: Arrival, destination: Destination, admission: Admission): void {
    const { context } = arrival
    const heldAt = performance.now()
    admission
      .delay(context.signal)
      .then((isDue) => {
        context.queuedMs = performance.now() - heldAt
        if (isDue && !context.isOver) this.#forward(arrival, destination)
      })
      .catch((error: unknown) => this.#fail(arrival, error))
  }

  #forward({ context, answer, forward }: Arrival, destination: Destination): void {
    if (hasUnknownExpectation(context.request)) {
      answerProblem(context, answer, "EXPECTATION_FAILED")
      return
    }
    context.forwarding = forward(destination)
    context.forwarding?.start()
  }
}

/** The answer to a denial that brings none, which should not happen. */
const noAnswer = { status: 429, contentType: "text/plain", body: "" }

/** Removes `/api` from `/api/x`, but not from `/apix`. */
function stripped(path: string, prefix: string | undefined): string {
  if (prefix === undefined || !path.startsWith(prefix)) return path
  if (path.length > prefix.length && path[prefix.length] !== "/") return path
  return path.slice(prefix.length) || "/"
}

function withQuery(path: string, query: string): string {
  return query === "" ? path : `${path}?${query}`
}
