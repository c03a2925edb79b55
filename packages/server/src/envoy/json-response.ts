// RateLimitResponse as protobuf writes it in JSON: what has its default value is left out.

import { CODES, type DescriptorStatus, durationOf, type RateLimitResponse } from "./rate-limit-response.js"
import { UNITS } from "./unit.js"

export function jsonResponse({ overallCode, statuses, headers }: RateLimitResponse): string {
  const pairs: { key: string; value: string }[] = []
  for (let i = 0; i < headers.length; i += 2)
    pairs.push({ key: headers[i] as string, value: headers[i + 1] as string })
  return JSON.stringify({
    overallCode: CODES[overallCode],
    statuses: statuses.map(statusOf),
    responseHeadersToAdd: pairs.length === 0 ? undefined : pairs,
  })
}

function statusOf({ code, currentLimit, limitRemaining, resetAfterMs }: DescriptorStatus): object {
  return {
    code: CODES[code],
    currentLimit: currentLimit && {
      requestsPerUnit: currentLimit.requestsPerUnit || undefined,
      unit: currentLimit.unit === 0 ? undefined : UNITS[currentLimit.unit],
      name: currentLimit.name,
    },
    limitRemaining: limitRemaining || undefined,
    durationUntilReset: resetAfterMs === undefined ? undefined : durationText(resetAfterMs),
  }
}

/** Seconds, with as many groups of three digits behind the point as are needed: `1s`, `0.500s`, `0.000001s`. */
function durationText(ms: number): string {
  const { seconds, nanos } = durationOf(ms)
  if (nanos === 0) return `${seconds}s`
  const digits = String(nanos)
    .padStart(9, "0")
    .replace(/(000){1,2}$/, "")
  return `${seconds}.${digits}s`
}
