import type { FastifyReply, FastifyRequest, HookHandlerDoneFunction } from "fastify"
import type { Admission } from "../core/admission.js"
import type { DeniedAnswer } from "../core/denied-answer.js"
import type { RequestDecision } from "../core/rate-limit-options.js"
import type { RequestLimiter } from "../core/request-limiter.js"
import type { RequestReader } from "../core/request-reader.js"
import { delayResponse, headersOf, nodeHostOf } from "../node/node-http.js"

/** With a callback instead of a promise: a promise per request costs as much as the decision. */
export type FastifyHook = (
  request: FastifyRequest,
  reply: FastifyReply,
  done: HookHandlerDoneFunction,
) => void

export type OnDenied = (request: FastifyRequest, reply: FastifyReply, decision: RequestDecision) => unknown

export const fastifyRequestReader: RequestReader<FastifyRequest> = {
  method: (request) => request.method,
  target: (request) => request.originalUrl,
  headers: (request) => request.headers,
  rawHeaders: (request) => request.raw.rawHeaders,
  peer: (request) => request.socket.remoteAddress,
  host: (request) => nodeHostOf(request.raw),
  // Fastify applies its own option `trustProxy`.
  ip: (request) => request.ip,
  // Fastify sets `ips` only if its `trustProxy` is set.
  trustsProxy: (request) => request.ips !== undefined,
  trustSetting: () => "fastify({ trustProxy: 1 }) for one proxy",
  route: (request) => request.routeOptions.url,
  body: (request) => request.body,
}

/** A hook that limits requests. Errors of the application's own functions go to fastify's error handler. */
export function fastifyHook(
  limiter: RequestLimiter<FastifyRequest>,
  onDenied: OnDenied | undefined,
): FastifyHook {
  function proceed(
    admission: Admission<FastifyRequest> | undefined,
    reply: FastifyReply,
    done: HookHandlerDoneFunction,
  ): void {
    if (admission === undefined) {
      done()
      return
    }
    const { request, decision, headers } = admission
    ;(request as unknown as Record<string, unknown>)[limiter.property] = decision
    for (let i = 0; i < headers.length; i += 2) reply.header(headers[i] as string, headers[i + 1])
    if (!decision.allowed) deny(admission, reply, done)
    else if (decision.delayMs > 0) delay(admission, reply, done)
    else {
      if (admission.mustSettle) settleOnClose(admission, reply)
      done()
    }
  }

  function deny(
    admission: Admission<FastifyRequest>,
    reply: FastifyReply,
    done: HookHandlerDoneFunction,
  ): void {
    const answer = admission.denied as DeniedAnswer
    reply.code(answer.status)
    if (onDenied === undefined) sendDenied(reply, answer)
    else sendOwn(onDenied(admission.request, reply, admission.decision), reply, answer).catch(done)
  }

  return (request, reply, done) => {
    const admission = limiter.admit(request)
    if (admission instanceof Promise) {
      admission.then((admitted) => proceed(admitted, reply, done)).catch(done)
    } else proceed(admission, reply, done)
  }
}

function sendDenied(reply: FastifyReply, { body, contentType }: DeniedAnswer): void {
  // The body is already text. Without a serializer fastify would add a charset, which problem+json does not have.
  reply.header("content-type", contentType).serializer(String).send(body)
}

/** Sends what `onDenied` returned, unless it has sent a response itself. */
async function sendOwn(returned: unknown, reply: FastifyReply, answer: DeniedAnswer): Promise<void> {
  // A returned reply is a thenable that resolves once it is sent.
  const body = await returned
  if (reply.sent) return
  if (body === undefined) sendDenied(reply, answer)
  else reply.send(body)
}

function delay(
  admission: Admission<FastifyRequest>,
  reply: FastifyReply,
  done: HookHandlerDoneFunction,
): void {
  delayResponse(admission, reply.raw)
    .then((isDue) => {
      if (isDue) {
        if (admission.mustSettle) settleOnClose(admission, reply)
        done()
      } else reply.hijack()
    })
    .catch(done)
}

/** Differs from the one for node:http for connections that became something else, such as a WebSocket: they count. */
function settleOnClose(admission: Admission<FastifyRequest>, reply: FastifyReply): void {
  const { raw } = reply
  const settle = (): void => {
    if (raw.writableEnded) admission.settle(raw.statusCode, headersOf(reply))
    else if (!reply.sent) admission.settle("aborted")
  }
  if (raw.closed) settle()
  else raw.once("close", settle)
}
