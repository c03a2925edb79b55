// What all routes share: their types, and their query parameters. An unknown parameter is a mistake.

import { SluiceError } from "sluice"
import type { Answer } from "../http/answer.js"
import type { Http1Request } from "../http1/request.js"

/** A request to the check API. */
export interface Asked {
  readonly request: Http1Request
  /** What follows the `?`. */
  readonly query: string
  /** Empty for routes that read no body. */
  readonly body: Buffer
}

/** Answers a JSON object. What it throws, or rejects with, is answered as a problem. */
export type JsonRoute = (query: string, body: Record<string, unknown>) => Answer | Promise<Answer>
/** Answers a request. What it throws, or rejects with, is answered as a problem. */
export type RequestRoute = (asked: Asked) => Answer | Promise<Answer>

/** A status from the query, `?status=429`: what a denial is answered with. */
export function statusParameter(query: string, name: string): number | undefined {
  if (query === "") return undefined
  let status: number | undefined
  for (const [given, value] of new URLSearchParams(query)) {
    if (given !== name) throw unknownParameter(given, `there is only ${name}`)
    if (!/^[45]\d\d$/.test(value)) {
      throw new SluiceError("QUERY_INVALID", {
        place: `query.${name}`,
        expected: "must be a status from 400 to 599",
        found: value,
      })
    }
    status = Number(value)
  }
  return status
}

export function noParameters(query: string): void {
  const [given] = query === "" ? [] : new URLSearchParams(query).keys()
  if (given !== undefined) throw unknownParameter(given, "this path takes none")
}

function unknownParameter(found: string, known: string): SluiceError {
  return new SluiceError("QUERY_INVALID", {
    place: "query",
    expected: `has a parameter that does not exist; ${known}`,
    found,
  })
}
