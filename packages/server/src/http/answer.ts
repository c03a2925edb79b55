// How answers leave: the head as one flat list, which node:http takes as it is, and the length known beforehand, so that
// head and body go out in one write.

import type { IncomingMessage, ServerResponse } from "node:http"
import { PROBLEM_CONTENT_TYPE, type Problem, problemBody } from "sluice/http"
import { headerList } from "sluice/internal"
import type { RuleDecision } from "sluice/rules"

/** Headers as node:http takes them: name, value, name, value. */
export type HeaderList = string[]

/** Returns the headers of a decision as a new list, in the style of its rule; empty when no limit applies. */
export function decisionHeaders(decision: RuleDecision): HeaderList {
  const { policies, headers } = decision
  return policies.length === 0 || headers === "none" ? [] : headerList(headers, policies, decision)
}

/** A whole answer, however it is sent. */
export interface Answer {
  readonly status: number
  readonly type: string
  /** Bytes are written over by the next answer: they are sent, or copied, before another question is asked. */
  readonly body: string | Uint8Array
  /** Besides those about the body. Sending it may add to them. */
  readonly headers: HeaderList
}

export function jsonAnswer(json: string | Uint8Array, status = 200): Answer {
  return { status, type: "application/json", body: json, headers: [] }
}

export function problemAnswer(problem: Problem, headers: HeaderList = []): Answer {
  return { status: problem.status, type: PROBLEM_CONTENT_TYPE, body: problemBody(problem), headers }
}

export function send(response: ServerResponse, { status, type, body, headers }: Answer): void {
  const length = Buffer.byteLength(body)
  headers.push("content-type", type, "cache-control", "no-store", "content-length", String(length))
  response.writeHead(status, headers)
  if (typeof body !== "string") {
    response.end(Buffer.from(body))
    return
  }
  // Where both are the same, as they nearly always are, latin1 spares node:http a look at every character.
  response.end(body, length === body.length ? "latin1" : "utf8")
}

export function sendJson(response: ServerResponse, json: string, status?: number): void {
  send(response, jsonAnswer(json, status))
}

export function sendProblem(response: ServerResponse, problem: Problem, headers?: HeaderList): void {
  send(response, problemAnswer(problem, headers))
}

/** Whether nobody is there any more to hear an answer. */
export function isGone(request: IncomingMessage, response: ServerResponse): boolean {
  return response.destroyed || (request.destroyed && !request.complete)
}
