import type { FastifyReply, FastifyRequest, HookHandlerDoneFunction } from "fastify"
import type { Gate } from "../core/admission.js"
import type { DeniedAnswer, Passage, RequestDecision } from "../core/passage.js"
import { headersOf, holdResponse } from "../node/node-middleware.js"
import { headerSetter } from "./fastify-headers.js"

/** With a callback and not a promise: a promise for every request would cost as much as the decision. */
export type FastifyHook = (
  request: FastifyRequest,
  reply: FastifyReply,
  done: HookHandlerDoneFunction,
) => void

export type OnDenied = (request: FastifyRequest, reply: FastifyReply, decision: RequestDecision) => unknown

/** Asks the gate about a request and does what it says. What the application's own functions throw is fastify's to handle. */
export function fastifyHook(gate: Gate<FastifyRequest>, onDenied: OnDenied | undefined): FastifyHook {
  const setHeaders = headerSetter()

  function proceed(
    passage: Passage<FastifyRequest> | undefined,
    request: FastifyRequest,
    reply: FastifyReply,
    done: HookHandlerDoneFunction,
  ): void {
    if (passage === undefined) {
      done()
      return
    }
    const { decision, headers } = passage
    request.rateLimit = decision
    setHeaders(reply, headers)
    if (!decision.allowed) deny(passage, request, reply, done)
    else if (decision.delayMs > 0) hold(passage, reply, done)
    else {
      if (passage.mustSettle) settleAtClose(passage, reply)
      done()
    }
  }

  function deny(
    passage: Passage<FastifyRequest>,
    request: FastifyRequest,
    reply: FastifyReply,
    done: HookHandlerDoneFunction,
  ): void {
    const answer = passage.denied as DeniedAnswer
    reply.code(answer.status)
    if (onDenied === undefined) sendDenied(reply, answer)
    else sendInstead(onDenied(request, reply, passage.decision), reply, answer).catch(done)
  }

  return (request, reply, done) => {
    const passing = gate.pass(request)
    if (passing instanceof Promise) {
      passing.then((passage) => proceed(passage, request, reply, done)).catch(done)
    } else proceed(passing, request, reply, done)
  }
}

function sendDenied(reply: FastifyReply, { body, contentType }: DeniedAnswer): void {
  // It is text already. Without a serializer that says so fastify would add a charset, which problem+json does not have.
  reply.header("content-type", contentType).serializer(asItIs).send(body)
}

function asItIs(body: unknown): string {
  return body as string
}

async function sendInstead(returned: unknown, reply: FastifyReply, answer: DeniedAnswer): Promise<void> {
  // Whoever returns the reply sends it: awaiting it lasts until then.
  const body = await returned
  if (reply.sent) return
  if (body === undefined) sendDenied(reply, answer)
  else reply.send(body)
}

function hold(passage: Passage<FastifyRequest>, reply: FastifyReply, done: HookHandlerDoneFunction): void {
  holdResponse(passage, reply.raw)
    .then((isDue) => {
      if (isDue) {
        if (passage.mustSettle) settleAtClose(passage, reply)
        done()
      } else reply.hijack()
    })
    .catch(done)
}

/** Like that of other middlewares, but for connections that became something else, such as a WebSocket: these count. */
function settleAtClose(passage: Passage<FastifyRequest>, reply: FastifyReply): void {
  const { raw } = reply
  const settle = (): void => {
    if (raw.writableEnded) passage.settle(raw.statusCode, headersOf(reply))
    else if (!reply.sent) passage.settle("aborted")
  }
  if (raw.closed) settle()
  else raw.once("close", settle)
}
