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

/** A status from the query, `?deny=403`: what a denial is answered with. */
export function statusParameter(query: string, name: string): number | undefined {
  if (query === "") return undefined
  let status: number | undefined
  for (const [given, value] of new URLSearchParams(query)) {
    if (given !== name) throw unknownParameter(given, `there is only ${name}`)
    status = statusOf(name, value)
  }
  return status
}

/** The query of a check. */
export interface CheckParameters {
  /** What a denial is answered with, `?status=429`. Default: 200. */
  readonly status?: number
  /** `?answer=small`: the answer has five fields and no headers about limits. */
  readonly isSmall?: boolean
}

const WHOLE: CheckParameters = {}
const SMALL: CheckParameters = { isSmall: true }

export function checkParameters(query: string): CheckParameters {
  if (query === "") return WHOLE
  if (query === "answer=small") return SMALL
  let parameters = WHOLE
  for (const [given, value] of new URLSearchParams(query)) {
    if (given === "status") parameters = { ...parameters, status: statusOf(given, value) }
    else if (given !== "answer") throw unknownParameter(given, "there are only status and answer")
    else if (value === "small") parameters = { ...parameters, isSmall: true }
    else
      throw new SluiceError("QUERY_INVALID", {
        place: "query.answer",
        expected: "must be small",
        found: value,
      })
  }
  return parameters
}

function statusOf(name: string, value: string): number {
  if (/^[45]\d\d$/.test(value)) return Number(value)
  throw new SluiceError("QUERY_INVALID", {
    place: `query.${name}`,
    expected: "must be a status from 400 to 599",
    found: value,
  })
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
