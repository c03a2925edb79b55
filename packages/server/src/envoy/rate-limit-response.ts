// Encodes the RateLimitResponse of envoy.service.ratelimit.v3.

import type { ProtobufWriter } from "./protobuf-writer.js"

export const CODES = ["UNKNOWN", "OK", "OVER_LIMIT"] as const
export const OK = 1
export const OVER_LIMIT = 2

export type Code = typeof OK | typeof OVER_LIMIT

export interface CurrentLimit {
  readonly requestsPerUnit: number
  /** The number of an Envoy unit; 0 for a window without one. */
  readonly unit: number
  readonly name: string
}

export interface DescriptorStatus {
  readonly code: Code
  /** Undefined when nothing limits the descriptor. */
  readonly currentLimit?: CurrentLimit | undefined
  readonly limitRemaining: number
  /** Exact to a microsecond. */
  readonly resetAfterMs?: number | undefined
}

export interface RateLimitResponse {
  readonly overallCode: Code
  /** One per descriptor, in order. */
  readonly statuses: readonly DescriptorStatus[]
  /** Name, value, name, value. */
  readonly headers: readonly string[]
}

export function writeRateLimitResponse(writer: ProtobufWriter, response: RateLimitResponse): void {
  writer.uint(1, response.overallCode)
  for (const status of response.statuses) {
    const start = writer.enter(2)
    writeStatus(writer, status)
    writer.leave(start)
  }
  const { headers } = response
  for (let i = 0; i < headers.length; i += 2) {
    const start = writer.enter(3)
    writer.string(1, headers[i] as string)
    writer.string(2, headers[i + 1] as string)
    writer.leave(start)
  }
}

function writeStatus(writer: ProtobufWriter, status: DescriptorStatus): void {
  const { code, currentLimit, limitRemaining, resetAfterMs } = status
  writer.uint(1, code)
  if (currentLimit !== undefined) {
    const start = writer.enter(2)
    writer.uint(1, currentLimit.requestsPerUnit)
    writer.uint(2, currentLimit.unit)
    writer.string(3, currentLimit.name)
    writer.leave(start)
  }
  writer.uint(3, limitRemaining)
  if (resetAfterMs !== undefined) {
    const { seconds, nanos } = durationOf(resetAfterMs)
    const start = writer.enter(4)
    writer.uint(1, seconds)
    writer.uint(2, nanos)
    writer.leave(start)
  }
}

/** A google.protobuf.Duration in whole milliseconds, rounded up so that waiting that long is enough. */
export function durationOf(ms: number): { readonly seconds: number; readonly nanos: number } {
  const whole = Math.ceil(ms)
  const seconds = Math.floor(whole / 1000)
  return { seconds, nanos: (whole - seconds * 1000) * 1_000_000 }
}
