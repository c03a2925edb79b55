// The decision log of the service: a first line that names the format, then one JSON object with short names per line.

import { LoggedRequest, type LogReader } from "./logged-request.js"

/** One decision. Unknown fields are left out. */
export interface RecordedDecision {
  /** Milliseconds since 1970. */
  readonly t: number
  readonly m?: string | undefined
  readonly h?: string | undefined
  /** The path without its query. */
  readonly p?: string | undefined
  readonly i?: string | undefined
  readonly u?: string | undefined
  /** Another identifier of the client. */
  readonly c?: string | undefined
  /** The keyed hash of the API key. */
  readonly k?: string | undefined
  /** The tier. */
  readonly r?: string | undefined
  /** The cost that the caller asked for, if any. */
  readonly w?: number | undefined
  /** Headers that the configuration names. */
  readonly x?: Readonly<Record<string, string>> | undefined
  /** The domain and the descriptors of an Envoy request. */
  readonly d?: readonly [string, LoggedRequest["descriptors"]] | undefined
  /** The rule or the reason of a denial. Left out if allowed. */
  readonly n?: string | undefined
}

export const RECORD_HEADER = '{"sluice":"record","version":1}'

export function isRecordHeader(line: string): boolean {
  return line === RECORD_HEADER
}

export function recordReader(): LogReader {
  const read = (line: string): LoggedRequest | string | undefined => {
    if (line === "" || isRecordHeader(line)) return undefined
    const recorded = parse(line)
    if (recorded === undefined) return "not a line of a decision log"
    const request = new LoggedRequest(recorded.t, recorded.i, recorded.m, recorded.p)
    request.host = recorded.h
    request.user = recorded.u
    request.client = recorded.c
    request.apiKey = recorded.k
    request.cost = recorded.w
    request.tier = recorded.r
    request.headers = recorded.x
    request.domain = recorded.d?.[0]
    request.descriptors = recorded.d?.[1]
    return request
  }
  return { format: "record", read }
}

const TEXTS = ["m", "h", "p", "i", "u", "c", "k", "r"] as const

function parse(line: string): RecordedDecision | undefined {
  try {
    const value: unknown = JSON.parse(line)
    if (typeof value !== "object" || value === null) return undefined
    const recorded = value as RecordedDecision
    const isText = (name: (typeof TEXTS)[number]) =>
      recorded[name] === undefined || typeof recorded[name] === "string"
    return Number.isFinite(recorded.t) && recorded.t > 0 && TEXTS.every(isText) ? recorded : undefined
  } catch {
    return undefined
  }
}
