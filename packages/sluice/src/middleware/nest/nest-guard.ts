import type { ServerResponse } from "node:http"
// Nest is imported at run time here: filters recognise exceptions by their class, and the container recognises a guard by
// the metadata of Nest's decorators.
import { type CanActivate, type ExecutionContext, HttpException, Inject, Injectable } from "@nestjs/common"
import { isThenable } from "../../notify.js"
import type { Admission } from "../core/admission.js"
import type { DeniedAnswer } from "../core/denied-answer.js"
import type { RequestDecision } from "../core/rate-limit-options.js"
import { delayResponse, settleOnClose } from "../node/node-http.js"
import { LIMITS, type NestLimit, type NestLimits } from "./nest-limits.js"

/** Thrown for a denied request. Exception filters handle it like any other exception of Nest. */
export class RateLimitException extends HttpException {
  readonly decision: RequestDecision

  constructor(body: string | Record<string, unknown>, status: number, decision: RequestDecision) {
    super(body, status)
    this.decision = decision
  }
}

/** What a guard needs of a response, on either platform. */
interface NestResponse {
  setHeader?(name: string, value: string): unknown
  header?(name: string, value: string): unknown
  /** The response of node:http, if the platform wraps it. */
  raw?: ServerResponse
}

/**
 * Limits the handlers that it guards. `RateLimitModule` registers it for all handlers. With `guard: false`, register it or a
 * subclass yourself: `{ provide: APP_GUARD, useClass: OwnGuard }` for all handlers, `@UseGuards(OwnGuard)` for some. Handlers
 * of other protocols than HTTP are not limited, unless a subclass overrides `getRequest`.
 */
export class RateLimitGuard implements CanActivate {
  readonly #limits: NestLimits

  constructor(limits: NestLimits) {
    this.#limits = limits
  }

  canActivate(context: ExecutionContext): boolean | Promise<boolean> {
    const limit = this.#limits.of(context.getClass(), context.getHandler())
    const request = limit === null ? undefined : this.getRequest(context)
    if (limit === null || request === undefined || !this.#limits.claim(context)) return true
    const admission = limit.limiter.admit(request)
    return admission instanceof Promise
      ? admission.then((admitted) => this.#proceed(admitted, limit, context))
      : this.#proceed(admission, limit, context)
  }

  /** Returns the request to count. Override it for GraphQL or WebSockets; on undefined the call is not limited. */
  protected getRequest(context: ExecutionContext): object | undefined {
    return context.getType() === "http" ? context.switchToHttp().getRequest<object>() : undefined
  }

  /** Returns the response that gets the headers. Override it together with `getRequest`; undefined if it has no headers. */
  protected getResponse(context: ExecutionContext): object | undefined {
    return context.getType() === "http" ? context.switchToHttp().getResponse<object>() : undefined
  }

  /** Returns what to throw for a denied request. Override it for protocols that do not know an `HttpException`. */
  protected denial(_context: ExecutionContext, decision: RequestDecision, answer: DeniedAnswer): unknown {
    return new RateLimitException(bodyOf(answer), answer.status, decision)
  }

  #proceed(
    admission: Admission<object> | undefined,
    limit: NestLimit,
    context: ExecutionContext,
  ): boolean | Promise<boolean> {
    if (admission === undefined) return true
    const { decision, headers } = admission
    ;(admission.request as Record<string, unknown>)[limit.limiter.property] = decision
    const response = this.getResponse(context) as NestResponse | undefined
    if (response !== undefined) writeHeaders(response, headers)
    if (!decision.allowed) return this.#deny(admission, limit, context, response)
    const raw = response === undefined ? undefined : (response.raw ?? (response as ServerResponse))
    if (decision.delayMs > 0) return delay(admission, raw)
    if (admission.mustSettle && raw !== undefined) settleOnClose(admission, raw)
    return true
  }

  #deny(
    admission: Admission<object>,
    { onDenied }: NestLimit,
    context: ExecutionContext,
    response: NestResponse | undefined,
  ): Promise<boolean> | never {
    const own = (onDenied as OnDenied | undefined)?.(context, admission.decision)
    if (isThenable(own)) {
      return Promise.resolve(own).then((found) => this.#throw(found, admission, context, response))
    }
    return this.#throw(own, admission, context, response)
  }

  #throw(
    own: unknown,
    admission: Admission<object>,
    context: ExecutionContext,
    response: NestResponse | undefined,
  ): never {
    if (own !== undefined) throw own
    const { decision } = admission
    const answer = admission.denied as DeniedAnswer
    if (response !== undefined) writeType(response, answer)
    throw this.denial(context, decision, answer)
  }
}

// The same as `@Injectable()` on the class and `@Inject(LIMITS)` on its parameter.
Injectable()(RateLimitGuard)
Inject(LIMITS)(RateLimitGuard, undefined, 0)

/** Returns what to throw for a denied request, or a promise of it; on undefined the guard throws a `RateLimitException`. */
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
  // Nest puts a text into its own JSON body for errors, which has its own type.
  if (!isJson(answer)) return
  if (response.setHeader === undefined) response.header?.("content-type", answer.contentType)
  else writeTypeWithHead(response as ServerResponse, answer.contentType)
}

/**
 * Sets the content type when the head is written. If it were set earlier, Nest 11 on express would replace every type but
 * application/json, and log a warning with each denial.
 */
function writeTypeWithHead(response: ServerResponse, contentType: string): void {
  const writeHead = response.writeHead as (...parts: unknown[]) => ServerResponse
  response.writeHead = (...parts: unknown[]): ServerResponse => {
    const type = response.getHeader("content-type")
    if (String(type).startsWith("application/json")) response.setHeader("content-type", contentType)
    return writeHead.apply(response, parts)
  }
}

/** Resolves to false when the client leaves first. Nobody reads the response then. */
async function delay(admission: Admission<object>, response: ServerResponse | undefined): Promise<boolean> {
  const isDue = await (response === undefined ? admission.delay() : delayResponse(admission, response))
  if (isDue && admission.mustSettle && response !== undefined) settleOnClose(admission, response)
  return isDue
}

function isJson({ contentType }: DeniedAnswer): boolean {
  return contentType.includes("json")
}

function bodyOf(answer: DeniedAnswer): string | Record<string, unknown> {
  return isJson(answer) ? (JSON.parse(answer.body) as Record<string, unknown>) : answer.body
}
