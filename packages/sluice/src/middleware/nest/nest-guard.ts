import type { ServerResponse } from "node:http"
// Values and not only types: filters tell exceptions by their class, and the container knows a guard by what Nest's own
// decorators note on it. Whoever imports this has Nest.
import { type CanActivate, type ExecutionContext, HttpException, Inject, Injectable } from "@nestjs/common"
import type { DeniedAnswer, Passage, RequestDecision } from "../core/passage.js"
import { holdResponse, settleAtClose } from "../node/node-middleware.js"
import { LIMITS, type NestLimit, type NestLimits } from "./nest-limits.js"
import type { NestRequest } from "./nest-request.js"

/** What is thrown at a denied request. Filters see it like every other exception of Nest's. */
export class RateLimitException extends HttpException {
  readonly decision: RequestDecision

  constructor(body: string | Record<string, unknown>, status: number, decision: RequestDecision) {
    super(body, status)
    this.decision = decision
  }
}

/** What a guard needs of a response: either platform's. */
interface NestResponse {
  setHeader?(name: string, value: string): unknown
  header?(name: string, value: string): unknown
  /** The response of node:http, where the platform wraps it. */
  raw?: ServerResponse
}

/**
 * Limits every handler it guards: `{ provide: APP_GUARD, useClass: RateLimitGuard }` for all, `@UseGuards(RateLimitGuard)`
 * for some. Handlers that do not answer HTTP are let through, unless a subclass finds their request.
 */
export class RateLimitGuard implements CanActivate {
  readonly #limits: NestLimits

  constructor(limits: NestLimits) {
    this.#limits = limits
  }

  canActivate(context: ExecutionContext): boolean | Promise<boolean> {
    const limit = this.#limits.of(context.getClass(), context.getHandler())
    const request = limit === null ? undefined : this.getRequest(context)
    if (limit === null || request === undefined) return true
    const passing = limit.gate.pass(request)
    return passing instanceof Promise
      ? passing.then((passage) => this.#proceed(passage, limit, context))
      : this.#proceed(passing, limit, context)
  }

  /** The request that is counted. Override it for GraphQL or WebSockets; undefined lets the call through. */
  protected getRequest(context: ExecutionContext): object | undefined {
    return context.getType() === "http" ? context.switchToHttp().getRequest<object>() : undefined
  }

  /** Where the headers go. Override it together with `getRequest`; undefined where there are no headers. */
  protected getResponse(context: ExecutionContext): object | undefined {
    return context.getType() === "http" ? context.switchToHttp().getResponse<object>() : undefined
  }

  /** What to throw at a denied request. Override it where an `HttpException` says nothing to the client. */
  protected denial(_context: ExecutionContext, decision: RequestDecision, answer: DeniedAnswer): unknown {
    return new RateLimitException(bodyOf(answer), answer.status, decision)
  }

  #proceed(
    passage: Passage<object> | undefined,
    limit: NestLimit,
    context: ExecutionContext,
  ): boolean | Promise<boolean> {
    if (passage === undefined) return true
    const { decision, headers } = passage
    ;(passage.request as NestRequest).rateLimit = decision
    const response = this.getResponse(context) as NestResponse | undefined
    if (response !== undefined) writeHeaders(response, headers)
    if (!decision.allowed) return this.#deny(passage, limit, context, response)
    const raw = response === undefined ? undefined : (response.raw ?? (response as ServerResponse))
    if (decision.delayMs > 0) return hold(passage, raw)
    if (passage.mustSettle && raw !== undefined) settleAtClose(passage, raw)
    return true
  }

  #deny(
    passage: Passage<object>,
    { onDenied }: NestLimit,
    context: ExecutionContext,
    response: NestResponse | undefined,
  ): never {
    const { decision } = passage
    const own = (onDenied as OnDenied | undefined)?.(context, decision)
    if (own !== undefined) throw own
    const answer = passage.denied as DeniedAnswer
    if (response !== undefined) writeType(response, answer)
    throw this.denial(context, decision, answer)
  }
}

// What `@Injectable()` on the class and `@Inject(LIMITS)` on its parameter come down to.
Injectable()(RateLimitGuard)
Inject(LIMITS)(RateLimitGuard, undefined, 0)

/** Returns what to throw instead; undefined for the usual. */
export type OnDenied = (context: ExecutionContext, decision: RequestDecision) => unknown

function writeHeaders(response: NestResponse, headers: readonly string[]): void {
  for (let i = 0; i < headers.length; i += 2) {
    const name = headers[i] as string
    const value = headers[i + 1] as string
    if (response.setHeader !== undefined) response.setHeader(name, value)
    else response.header?.(name, value)
  }
}

function writeType(response: NestResponse, answer: DeniedAnswer): void {
  // A text becomes the message of Nest's usual body for an error, which has a type already.
  if (!isJson(answer)) return
  if (response.setHeader === undefined) response.header?.("content-type", answer.contentType)
  else writeTypeAtLast(response as ServerResponse, answer.contentType)
}

/**
 * Says what kind of JSON it is when the headers are written. Before that, Nest 11 on express takes every type but
 * application/json for a mistake: it would overwrite it, and add a line to the log with each denial.
 */
function writeTypeAtLast(response: ServerResponse, contentType: string): void {
  const writeHead = response.writeHead as (...parts: unknown[]) => ServerResponse
  response.writeHead = (...parts: unknown[]): ServerResponse => {
    const type = response.getHeader("content-type")
    if (String(type).startsWith("application/json")) response.setHeader("content-type", contentType)
    return writeHead.apply(response, parts)
  }
}

/** False when the client went away: whatever is then answered, nobody reads it. */
async function hold(passage: Passage<object>, response: ServerResponse | undefined): Promise<boolean> {
  const isDue = await (response === undefined ? passage.hold() : holdResponse(passage, response))
  if (isDue && passage.mustSettle && response !== undefined) settleAtClose(passage, response)
  return isDue
}

function isJson({ contentType }: DeniedAnswer): boolean {
  return contentType.includes("json")
}

function bodyOf(answer: DeniedAnswer): string | Record<string, unknown> {
  return isJson(answer) ? (JSON.parse(answer.body) as Record<string, unknown>) : answer.body
}
