// Decodes the RateLimitRequest of envoy.service.ratelimit.v3.

import { SluiceError } from "sluice"
import type { RuleRequest } from "sluice/rules"
import { BYTES, ProtobufReader, VARINT } from "./protobuf-reader.js"

/** A descriptor as the rule engine takes it: entries, cost, and a limit of its own. */
export type Descriptor = NonNullable<RuleRequest["descriptors"]>[number]
type Entry = Descriptor["entries"][number]
type DescriptorLimit = NonNullable<Descriptor["limit"]>

export interface RateLimitRequest {
  readonly domain: string
  readonly descriptors: readonly Descriptor[]
  /** 0 when it is not set. */
  readonly hitsAddend: number
}

/** Limits for the matching work of one request. Envoy sends a handful of descriptors. */
export const MAX_DESCRIPTORS = 256
export const MAX_ENTRIES = 64

/** Envoy's units of time, by their protobuf number. UNKNOWN stands for a window without a name. */
export const UNITS = ["UNKNOWN", "SECOND", "MINUTE", "HOUR", "DAY", "MONTH", "YEAR", "WEEK"] as const

const DAY_MS = 86_400_000
/** A month is 30 days and a year 365, as in envoyproxy/ratelimit. */
const WINDOWS_MS = [0, 1_000, 60_000, 3_600_000, DAY_MS, 30 * DAY_MS, 365 * DAY_MS, 7 * DAY_MS]

/** The window of a unit by its number; undefined for UNKNOWN and other numbers. */
export function windowOf(unit: number): number | undefined {
  return unit === 0 ? undefined : WINDOWS_MS[unit]
}

/** The number of the unit with this window; 0 if there is none. */
export function unitOf(windowMs: number): number {
  const unit = WINDOWS_MS.indexOf(windowMs)
  return unit < 0 ? 0 : unit
}

export function decodeRateLimitRequest(bytes: Buffer): RateLimitRequest {
  const reader = new ProtobufReader(bytes)
  const descriptors: Descriptor[] = []
  let domain = ""
  let hitsAddend = 0
  while (reader.next()) {
    if (reader.is(1, BYTES)) domain = reader.string()
    else if (reader.is(2, BYTES)) {
      if (descriptors.push(descriptor(reader)) > MAX_DESCRIPTORS) throw tooManyDescriptors()
    } else if (reader.is(3, VARINT)) hitsAddend = reader.uint32()
    else reader.skip()
  }
  return { domain, descriptors, hitsAddend }
}

export function tooManyDescriptors(): SluiceError {
  return invalid("descriptors", `may have at most ${MAX_DESCRIPTORS} entries`)
}

export function tooManyEntries(): SluiceError {
  return invalid("descriptors.entries", `may have at most ${MAX_ENTRIES} entries`)
}

/** The limit that a descriptor carries. Throws for an unknown unit. */
export function limitOf(requestsPerUnit: number, unit: number): DescriptorLimit {
  const windowMs = windowOf(unit)
  if (windowMs !== undefined) return { limit: requestsPerUnit, windowMs }
  throw new SluiceError("BODY_FIELD_INVALID", {
    place: "descriptors.limit.unit",
    expected: `must be one of ${UNITS.slice(1).join(", ")}`,
    found: UNITS[unit] ?? unit,
  })
}

export function invalid(place: string, expected: string): SluiceError {
  return new SluiceError("BODY_FIELD_INVALID", { place, expected })
}

function descriptor(reader: ProtobufReader): Descriptor {
  const entries: Entry[] = []
  let ownLimit: LimitOverride | undefined
  let cost: number | undefined
  const outer = reader.enter()
  while (reader.next()) {
    if (reader.is(1, BYTES)) {
      if (entries.push(entry(reader)) > MAX_ENTRIES) throw tooManyEntries()
    } else if (reader.is(2, BYTES)) ownLimit = override(reader, ownLimit)
    else if (reader.is(3, BYTES)) cost = wrapped(reader, cost)
    else reader.skip()
  }
  reader.leave(outer)
  return { entries, cost, limit: ownLimit && limitOf(ownLimit.requestsPerUnit, ownLimit.unit) }
}

function entry(reader: ProtobufReader): Entry {
  let key = ""
  let value = ""
  const outer = reader.enter()
  while (reader.next()) {
    if (reader.is(1, BYTES)) key = reader.string()
    else if (reader.is(2, BYTES)) value = reader.string()
    else reader.skip()
  }
  reader.leave(outer)
  return { key, value }
}

interface LimitOverride {
  readonly requestsPerUnit: number
  readonly unit: number
}

/** Protobuf merges a repeated message: the last value of each field counts. */
function override(reader: ProtobufReader, earlier: LimitOverride | undefined): LimitOverride {
  let { requestsPerUnit, unit } = earlier ?? { requestsPerUnit: 0, unit: 0 }
  const outer = reader.enter()
  while (reader.next()) {
    if (reader.is(1, VARINT)) requestsPerUnit = reader.uint32()
    else if (reader.is(2, VARINT)) unit = reader.uint32()
    else reader.skip()
  }
  reader.leave(outer)
  return { requestsPerUnit, unit }
}

/** A google.protobuf.UInt64Value, in which an explicit 0 differs from no value. */
function wrapped(reader: ProtobufReader, earlier: number | undefined): number {
  let value = earlier ?? 0
  const outer = reader.enter()
  while (reader.next()) {
    if (reader.is(1, VARINT)) value = reader.uint64()
    else reader.skip()
  }
  reader.leave(outer)
  return value
}
