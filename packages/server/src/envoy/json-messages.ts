// RateLimitRequest and RateLimitResponse in protobuf's JSON form. A request may use the names of the proto file or camel case,
// and numbers as text; a response leaves out default values.

import { SluiceError } from "sluice"
import {
  type Descriptor,
  limitOf,
  MAX_DESCRIPTORS,
  MAX_ENTRIES,
  type RateLimitRequest,
  tooManyDescriptors,
  tooManyEntries,
  UNITS,
} from "./rate-limit-request.js"
import { CODES, type DescriptorStatus, durationOf, type RateLimitResponse } from "./rate-limit-response.js"

type Fields = Readonly<Record<string, unknown>>

const MAX_UINT32 = 0xffff_ffff

export function readJsonRequest(body: Fields): RateLimitRequest {
  const fields = known(body, ["domain", "descriptors", "hitsAddend"], "")
  const descriptors = listOf(fields.descriptors, "descriptors")
  if (descriptors.length > MAX_DESCRIPTORS) throw tooManyDescriptors()
  return {
    domain: textOf(fields.domain, "domain"),
    descriptors: descriptors.map((value, i) => readDescriptor(value, `descriptors[${i}]`)),
    hitsAddend: numberOf(fields.hitsAddend, MAX_UINT32, "hitsAddend") ?? 0,
  }
}

function readDescriptor(value: unknown, place: string): Descriptor {
  const fields = known(value, ["entries", "limit", "hitsAddend"], place)
  const entries = listOf(fields.entries, `${place}.entries`)
  if (entries.length > MAX_ENTRIES) throw tooManyEntries()
  return {
    entries: entries.map((entry, i) => {
      const at = `${place}.entries[${i}]`
      const { key, value } = known(entry, ["key", "value"], at)
      return { key: textOf(key, `${at}.key`), value: textOf(value, `${at}.value`) }
    }),
    cost: numberOf(fields.hitsAddend, Number.MAX_SAFE_INTEGER, `${place}.hitsAddend`),
    limit: readLimit(fields.limit, `${place}.limit`),
  }
}

function readLimit(value: unknown, place: string): Descriptor["limit"] {
  if (value === undefined || value === null) return undefined
  const { requestsPerUnit, unit } = known(value, ["requestsPerUnit", "unit"], place)
  const number = typeof unit === "string" ? (UNITS as readonly string[]).indexOf(unit) : unit
  return limitOf(
    numberOf(requestsPerUnit, MAX_UINT32, `${place}.requestsPerUnit`) ?? 0,
    typeof number === "number" ? number : 0,
  )
}

/** The fields of an object by their camel case names. Throws for a field that is not in `names`. */
function known(value: unknown, names: readonly string[], place: string): Fields {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw invalid(place, "must be an object", value)
  const fields: Record<string, unknown> = {}
  for (const [name, field] of Object.entries(value)) {
    const camel = name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())
    if (!names.includes(camel)) {
      throw new SluiceError("BODY_UNKNOWN_FIELD", {
        place: place === "" ? "body" : place,
        expected: `may only have the fields ${names.join(", ")}`,
        found: name,
      })
    }
    fields[camel] = field
  }
  return fields
}

function listOf(value: unknown, place: string): readonly unknown[] {
  if (value === undefined || value === null) return []
  if (Array.isArray(value)) return value
  throw invalid(place, "must be a list", value)
}

function textOf(value: unknown, place: string): string {
  if (value === undefined || value === null) return ""
  if (typeof value === "string") return value
  throw invalid(place, "must be text", value)
}

function numberOf(value: unknown, max: number, place: string): number | undefined {
  if (value === undefined || value === null) return undefined
  const number = typeof value === "string" && /^\d{1,20}$/.test(value) ? Number(value) : value
  // A 64-bit number may exceed what is exact; it exceeds every limit as well, so it is capped.
  if (Number.isInteger(number) && (number as number) >= 0) {
    if ((number as number) <= max) return number as number
    if (max === Number.MAX_SAFE_INTEGER) return max
  }
  throw invalid(
    place,
    max === MAX_UINT32 ? `must be an integer from 0 to ${max}` : "must be an integer ≥ 0",
    value,
  )
}

function invalid(place: string, expected: string, found: unknown): SluiceError {
  return new SluiceError("BODY_FIELD_INVALID", { place: place === "" ? "body" : place, expected, found })
}

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

/** Seconds with 0 or 3 decimals, as protobuf writes them: `1s`, `0.500s`. */
function durationText(ms: number): string {
  const { seconds, nanos } = durationOf(ms)
  if (nanos === 0) return `${seconds}s`
  const digits = String(nanos / 1_000_000).padStart(3, "0")
  return `${seconds}.${digits}s`
}
