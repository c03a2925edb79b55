// A middleware of the form `(request, response, next)`, as plain Node, connect and express know it.

import type { IncomingMessage, ServerResponse } from "node:http"
import type { HeaderSource } from "../../request/header-source.js"
import type { Gate } from "../core/admission.js"
import type { Passage, RequestDecision } from "../core/passage.js"

export type Next = (error?: unknown) => void

/** An answer of the application's own to a denied request. The headers are set already, the status is not. */
export type OnDenied<Request, Response> = (
  request: Request,
  response: Response,
  decision: RequestDecision,
  next: Next,
) => unknown

/** What a middleware leaves on the request. */
export interface WithRateLimit {
  rateLimit?: RequestDecision
}

export function nodeMiddleware<Request extends IncomingMessage, Response extends ServerResponse>(
  gate: Gate<Request>,
  onDenied: OnDenied<Request, Response> | undefined,
): (request: Request, response: Response, next: Next) => void {
  function proceed(
    passage: Passage<Request> | undefined,
    request: Request,
    response: Response,
    next: Next,
  ): void {
    if (passage === undefined) {
      next()
      return
    }
    ;(request as WithRateLimit).rateLimit = passage.decision
    writeHeaders(passage, response)
    if (!passage.allowed) deny(passage, response, next)
    else if (passage.delayMs > 0) holdThenNext(passage, response, next)
    else {
      if (passage.mustSettle) settleAtClose(passage, response)
      next()
    }
  }

  function deny(passage: Passage<Request>, response: Response, next: Next): void {
    try {
      if (onDenied === undefined) writeDenied(passage, response)
      else Promise.resolve(onDenied(passage.request, response, passage.decision, next)).catch(next)
    } catch (error) {
      next(error)
    }
  }

  return (request, response, next) => {
    let passing: ReturnType<Gate<Request>["pass"]>
    try {
      passing = gate.pass(request)
    } catch (error) {
      next(error)
      return
    }
    if (passing instanceof Promise) {
      passing.then((passage) => proceed(passage, request, response, next)).catch(next)
    } else proceed(passing, request, response, next)
  }
}

function writeHeaders({ headers }: Passage, response: ServerResponse): void {
  try {
    for (let i = 0; i < headers.length; i += 2) {
      response.setHeader(headers[i] as string, headers[i + 1] as string)
    }
  } catch (error) {
    // Somebody else may have answered while the store was asked; then there is nothing to add. Not asked beforehand: on a
    // response of express every look at a property is dear.
    if (!response.headersSent) throw error
  }
}

function writeDenied(passage: Passage, response: ServerResponse): void {
  const answer = passage.denied
  if (answer === undefined || response.headersSent) return
  response.statusCode = answer.status
  response.setHeader("content-type", answer.contentType)
  response.setHeader("content-length", Buffer.byteLength(answer.body))
  response.end(answer.body)
}

/** Tells the passage how the request ends. A client that goes away before it was answered got nothing: `aborted`. */
export function settleAtClose(passage: Passage, response: ServerResponse): void {
  const settle = (): void => {
    if (response.writableEnded) passage.settle(response.statusCode, headersOf(response))
    else passage.settle("aborted")
  }
  if (response.closed) settle()
  else response.once("close", settle)
}

/** The headers of an answer by name. */
export function headersOf(response: { getHeader(name: string): unknown }): HeaderSource {
  return {
    get(name) {
      const value = response.getHeader(name)
      return value === undefined ? null : String(value)
    },
  }
}

/** Waits for the passage's turn. False when the client went away first. */
export async function holdResponse(passage: Passage, response: ServerResponse): Promise<boolean> {
  const gone = new AbortController()
  const onClose = (): void => gone.abort()
  if (response.closed) onClose()
  else response.once("close", onClose)
  try {
    return await passage.hold(gone.signal)
  } finally {
    response.removeListener("close", onClose)
  }
}

function holdThenNext(passage: Passage, response: ServerResponse, next: Next): void {
  holdResponse(passage, response)
    .then((isDue) => {
      if (!isDue) return
      if (passage.mustSettle) settleAtClose(passage, response)
      next()
    })
    .catch(next)
}
