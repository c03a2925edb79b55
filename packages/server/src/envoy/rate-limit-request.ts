// RateLimitRequest of envoy.service.ratelimit.v3, from its bytes.

import { SluiceError } from "sluice"
import type { RuleRequest } from "sluice/rules"
import { BYTES, ProtobufReader, VARINT } from "./protobuf-reader.js"
import { UNITS, windowOf } from "./unit.js"

/** As the engine takes it: entries, what it costs, and the limit it brings along. */
export type Descriptor = NonNullable<RuleRequest["descriptors"]>[number]
type Entry = Descriptor["entries"][number]
type DescriptorLimit = NonNullable<Descriptor["limit"]>

export interface RateLimitRequest {
  readonly domain: string
  readonly descriptors: readonly Descriptor[]
  /** 0 when it is not given. */
  readonly hitsAddend: number
}

/** Envoy sends a handful. What a request may make us match is bounded, not only its bytes. */
export const MOST_DESCRIPTORS = 256
export const MOST_ENTRIES = 64

export function decodeRateLimitRequest(bytes: Buffer): RateLimitRequest {
  const reader = new ProtobufReader(bytes)
  const descriptors: Descriptor[] = []
  let domain = ""
  let hitsAddend = 0
  while (reader.next()) {
    if (reader.is(1, BYTES)) domain = reader.string()
    else if (reader.is(2, BYTES)) {
      if (descriptors.push(descriptor(reader)) > MOST_DESCRIPTORS) throw tooManyDescriptors()
    } else if (reader.is(3, VARINT)) hitsAddend = reader.uint32()
    else reader.skip()
  }
  return { domain, descriptors, hitsAddend }
}

export function tooManyDescriptors(): SluiceError {
  return invalid("descriptors", `may have ${MOST_DESCRIPTORS} entries at most`)
}

export function tooManyEntries(): SluiceError {
  return invalid("descriptors.entries", `may have ${MOST_ENTRIES} entries at most`)
}

/** The limit that a descriptor brings along. */
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
  let asked: Asked | undefined
  let cost: number | undefined
  const outer = reader.enter()
  while (reader.next()) {
    if (reader.is(1, BYTES)) {
      if (entries.push(entry(reader)) > MOST_ENTRIES) throw tooManyEntries()
    } else if (reader.is(2, BYTES)) asked = override(reader, asked)
    else if (reader.is(3, BYTES)) cost = wrapped(reader, cost)
    else reader.skip()
  }
  reader.leave(outer)
  return { entries, cost, limit: asked && limitOf(asked.requestsPerUnit, asked.unit) }
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

interface Asked {
  readonly requestsPerUnit: number
  readonly unit: number
}

/** A message that comes twice is one, of which each part counts as it came last. */
function override(reader: ProtobufReader, earlier: Asked | undefined): Asked {
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

/** A google.protobuf.UInt64Value: there with 0 is not the same as not there. */
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
