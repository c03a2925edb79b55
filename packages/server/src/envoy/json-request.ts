// RateLimitRequest as protobuf writes it in JSON: names in camel case or as in the proto file, numbers also as text.

import { SluiceError } from "sluice"
import {
  type Descriptor,
  limitOf,
  MOST_DESCRIPTORS,
  MOST_ENTRIES,
  type RateLimitRequest,
  tooManyDescriptors,
  tooManyEntries,
} from "./rate-limit-request.js"
import { UNITS } from "./unit.js"

type Fields = Readonly<Record<string, unknown>>

const MOST_UINT32 = 0xffff_ffff

export function readJsonRequest(body: Fields): RateLimitRequest {
  const fields = known(body, ["domain", "descriptors", "hitsAddend"], "")
  const descriptors = listOf(fields.descriptors, "descriptors")
  if (descriptors.length > MOST_DESCRIPTORS) throw tooManyDescriptors()
  return {
    domain: textOf(fields.domain, "domain"),
    descriptors: descriptors.map((value, i) => readDescriptor(value, `descriptors[${i}]`)),
    hitsAddend: numberOf(fields.hitsAddend, MOST_UINT32, "hitsAddend") ?? 0,
  }
}

function readDescriptor(value: unknown, place: string): Descriptor {
  const fields = known(value, ["entries", "limit", "hitsAddend"], place)
  const entries = listOf(fields.entries, `${place}.entries`)
  if (entries.length > MOST_ENTRIES) throw tooManyEntries()
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
    numberOf(requestsPerUnit, MOST_UINT32, `${place}.requestsPerUnit`) ?? 0,
    typeof number === "number" ? number : 0,
  )
}

/** The fields of an object, by their names in camel case. */
function known(value: unknown, names: readonly string[], place: string): Fields {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw invalid(place, "must be an object", value)
  const fields: Record<string, unknown> = {}
  for (const [name, field] of Object.entries(value)) {
    const camel = name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())
    if (!names.includes(camel)) {
      throw new SluiceError("BODY_UNKNOWN_FIELD", {
        place: place === "" ? "body" : place,
        expected: `has no field but ${names.join(", ")}`,
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

function numberOf(value: unknown, most: number, place: string): number | undefined {
  if (value === undefined || value === null) return undefined
  const number = typeof value === "string" && /^\d{1,20}$/.test(value) ? Number(value) : value
  // Of 64 bits more than can be exact may come: more than fits into any limit anyway.
  if (Number.isInteger(number) && (number as number) >= 0) {
    if ((number as number) <= most) return number as number
    if (most === Number.MAX_SAFE_INTEGER) return most
  }
  throw invalid(
    place,
    most === MOST_UINT32 ? `must be an integer from 0 to ${most}` : "must be an integer ≥ 0",
    value,
  )
}

function invalid(place: string, expected: string, found: unknown): SluiceError {
  return new SluiceError("BODY_FIELD_INVALID", { place: place === "" ? "body" : place, expected, found })
}
