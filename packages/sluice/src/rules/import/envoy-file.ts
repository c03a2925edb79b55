// Reads a configuration file of envoyproxy/ratelimit as that program does, and refuses what it refuses.

import { show } from "../../errors.js"
import { nearest } from "../../options.js"
import { MAX_DEPTH, Plain } from "../language/yaml-text.js"
import { type Findings, inside, type Place } from "./findings.js"

/** The windows of the units, as rules write them. */
export const UNITS = {
  second: "1s",
  minute: "1m",
  hour: "1h",
  day: "1d",
  week: "7d",
  month: "30d",
  year: "365d",
} as const

export type Unit = keyof typeof UNITS

export interface EnvoyLimit {
  /** Empty if it has no name. */
  readonly name: string
  /** Undefined for an unlimited one. */
  readonly unit: Unit | undefined
  readonly requestsPerUnit: number
  readonly replaces: readonly { readonly name: string; readonly place: Place }[]
}

export interface EnvoyDescriptor {
  readonly place: Place
  readonly key: string
  /** Empty for any value. */
  readonly value: string
  readonly limit: EnvoyLimit | undefined
  readonly isShadow: boolean
  /** All values that match its wildcard share one counter. */
  readonly isShared: boolean
  readonly descriptors: readonly EnvoyDescriptor[]
}

interface EnvoyFile {
  readonly place: Place
  readonly domain: string
  readonly descriptors: readonly EnvoyDescriptor[]
}

const FIELDS = {
  file: ["domain", "descriptors"],
  descriptor: [
    "key",
    "value",
    "rate_limit",
    "descriptors",
    "shadow_mode",
    "quota_mode",
    "detailed_metric",
    "value_to_metric",
    "share_threshold",
    "metadata",
  ],
  rate_limit: ["requests_per_unit", "unit", "unlimited", "name", "replaces"],
  replaces: ["name"],
} as const
const KNOWN: readonly string[] = [...new Set(Object.values(FIELDS).flat())]

const MAX_REQUESTS = 2 ** 32 - 1
const FLOAT = /^[-+]?(\.\d+|\d+\.\d*|\d+(\.\d*)?e[-+]?\d+|\.inf)$|^\.nan$/i
const YES = /^(y|yes|true|on)$/i
const NO = /^(n|no|false|off)$/i

type Fields = Readonly<Record<string, unknown>>

export function readEnvoyFile(value: unknown, text: number, findings: Findings): EnvoyFile {
  const reader = new Reader(findings)
  return reader.file(value, { text, at: [] })
}

/** The name by which envoyproxy/ratelimit distinguishes a descriptor from the others of its level. */
export function compositeKey({ key, value }: Pick<EnvoyDescriptor, "key" | "value">): string {
  return value === "" ? key : `${key}_${value}`
}

class Reader {
  readonly #findings: Findings

  constructor(findings: Findings) {
    this.#findings = findings
  }

  file(value: unknown, place: Place): EnvoyFile {
    const fields = this.#map(value, place, "file", "a map with domain and descriptors")
    if (fields === undefined) return { place, domain: "", descriptors: [] }
    const domain = this.#text(fields.domain, inside(place, "domain"))
    if (domain === "") this.#invalid(inside(place, "domain"), "is required and must not be empty")
    return { place, domain: domain ?? "", descriptors: this.#descriptors(fields, place, 1) }
  }

  #descriptors(fields: Fields, place: Place, depth: number): EnvoyDescriptor[] {
    const list = this.#list(fields.descriptors, inside(place, "descriptors"))
    if (depth > MAX_DEPTH && list.length > 0) {
      this.#invalid(inside(place, "descriptors"), `must not be nested deeper than ${MAX_DEPTH}`)
      return []
    }
    return list.flatMap((entry, i) => this.#descriptor(entry, inside(place, "descriptors", i), depth))
  }

  #descriptor(value: unknown, place: Place, depth: number): EnvoyDescriptor | [] {
    const fields = this.#map(value, place, "descriptor", "a map with a key")
    if (fields === undefined) return []
    const key = this.#text(fields.key, inside(place, "key"))
    if (key === "") this.#invalid(inside(place, "key"), "is required and must not be empty")
    // Rules compare whole keys.
    if (key?.includes("*"))
      this.#invalid(inside(place, "key"), `must not have a * in it; only a value may, got ${show(key)}`)
    const pattern = this.#text(fields.value, inside(place, "value")) ?? ""
    const limit = this.#limit(fields.rate_limit, inside(place, "rate_limit"))
    const isShared = this.#flag(fields, "share_threshold", place)
    if (isShared && !pattern.includes("*")) {
      const found = pattern === "" ? "no value" : `value ${show(pattern)}`
      this.#invalid(inside(place, "share_threshold"), `needs a value with a * in it, got ${found}`)
    }
    this.#unsupported(fields, limit, place)
    return {
      place,
      key: key ?? "",
      value: pattern,
      limit,
      isShadow: this.#flag(fields, "shadow_mode", place),
      isShared,
      descriptors: this.#descriptors(fields, place, depth + 1),
    }
  }

  /** Notes fields that change no decision. A field that would change decisions is a problem. */
  #unsupported(fields: Fields, limit: EnvoyLimit | undefined, place: Place): void {
    if (this.#flag(fields, "quota_mode", place) && limit !== undefined) {
      const message =
        "is not supported: rules cannot require that only one of several limits allows a request"
      this.#invalid(inside(place, "quota_mode"), message)
    }
    for (const field of ["detailed_metric", "value_to_metric"] as const) {
      if (this.#flag(fields, field, place))
        this.#findings.note(inside(place, field), "changes no decision; the metrics of Sluice are by rule")
    }
    if (fields.metadata !== undefined && fields.metadata !== null)
      this.#findings.note(inside(place, "metadata"), "changes no decision and is ignored")
  }

  #limit(value: unknown, place: Place): EnvoyLimit | undefined {
    if (value === undefined || value === null) return undefined
    const fields = this.#map(value, place, "rate_limit", "a map with unit and requests_per_unit")
    if (fields === undefined) return undefined
    const name = this.#text(fields.name, inside(place, "name")) ?? ""
    const unit = this.#unit(fields, place)
    return {
      name,
      unit,
      requestsPerUnit: this.#requests(fields, unit, place),
      replaces: this.#replaces(fields.replaces, inside(place, "replaces"), name),
    }
  }

  #unit(fields: Fields, place: Place): Unit | undefined {
    const isUnlimited = this.#flag(fields, "unlimited", place)
    const at = inside(place, "unit")
    const text = this.#text(fields.unit, at)
    if (text === undefined) return undefined
    const unit = Object.keys(UNITS).find((known) => known === text.toLowerCase()) as Unit | undefined
    if (isUnlimited) {
      if (unit !== undefined) this.#invalid(at, `cannot be combined with unlimited, got ${show(text)}`)
      return undefined
    }
    if (unit === undefined) {
      const units = `one of ${Object.keys(UNITS).join(", ")}`
      this.#invalid(
        at,
        text === "" ? `is required and must be ${units}` : `must be ${units}, got ${show(text)}`,
      )
    }
    return unit
  }

  #requests(fields: Fields, unit: Unit | undefined, place: Place): number {
    const at = inside(place, "requests_per_unit")
    const given = fields.requests_per_unit
    if (given === undefined || given === null) {
      if (unit !== undefined) this.#findings.note(at, "is missing, which means 0: all requests are denied")
      return 0
    }
    const digits = given instanceof Plain ? given.text.replaceAll("_", "") : ""
    if (/^\+?(0|[1-9]\d*)$/.test(digits) && Number(digits) <= MAX_REQUESTS) return Number(digits)
    this.#invalid(at, `must be an integer from 0 to ${MAX_REQUESTS}, got ${found(given)}`)
    return 0
  }

  #replaces(value: unknown, place: Place, own: string): EnvoyLimit["replaces"] {
    return this.#list(value, place).flatMap((entry, i) => {
      const fields = this.#map(entry, inside(place, i), "replaces", "a map with a name")
      if (fields === undefined) return []
      const at = inside(place, i, "name")
      const name = this.#text(fields.name, at)
      if (name === undefined) return []
      if (name === "") this.#invalid(at, "is required and must not be empty")
      else if (name === own) {
        const message = `must not be the name of the limit itself, got ${show(name)}`
        this.#findings.problem(at, "RULE_REFERENCE_UNKNOWN", message)
      }
      return [{ name, place: at }]
    })
  }

  /** The fields of a map. A field of another kind of map has no effect in envoyproxy/ratelimit either, and is noted. */
  #map(value: unknown, place: Place, kind: keyof typeof FIELDS, expected: string): Fields | undefined {
    if (typeof value !== "object" || value === null || Array.isArray(value) || value instanceof Plain) {
      this.#invalid(place, `must be ${expected}, got ${found(value)}`)
      return undefined
    }
    const own: readonly string[] = FIELDS[kind]
    for (const field of Object.keys(value)) {
      if (own.includes(field)) continue
      const at = inside(place, field)
      if (KNOWN.includes(field)) {
        this.#findings.note(at, `has no effect; it is a field of ${homeOf(field)}`, true)
        continue
      }
      const guess = nearest(field, own)
      const hint = guess === undefined ? "" : `; did you mean ${guess}?`
      this.#findings.problem(at, "RULE_UNKNOWN_FIELD", `does not exist${hint}`, true)
    }
    return value as Fields
  }

  #list(value: unknown, place: Place): readonly unknown[] {
    if (value === undefined || value === null) return []
    if (Array.isArray(value)) return value
    this.#invalid(place, `must be a list, got ${found(value)}`)
    return []
  }

  /** A text; empty if it is missing. Undefined if it is no text, which is reported as a problem. */
  #text(value: unknown, place: Place): string | undefined {
    if (value === undefined || value === null) return ""
    if (typeof value === "string") return value
    if (value instanceof Plain && !FLOAT.test(value.text)) return value.text
    const hint = value instanceof Plain ? "must be a string: put it in quotes" : "must be a string"
    this.#invalid(place, `${hint}, got ${found(value)}`)
    return undefined
  }

  #flag(fields: Fields, field: string, place: Place): boolean {
    const value = fields[field]
    if (value === undefined || value === null) return false
    const word = value instanceof Plain ? value.text : ""
    if (!YES.test(word) && !NO.test(word))
      this.#invalid(inside(place, field), `must be true or false, got ${found(value)}`)
    return YES.test(word)
  }

  #invalid(place: Place, message: string): void {
    this.#findings.problem(place, "RULE_FIELD_INVALID", message)
  }
}

function homeOf(field: string): string {
  const lists: [string, readonly string[]][] = [
    ["the file", FIELDS.file],
    ["a descriptor", FIELDS.descriptor],
  ]
  return lists.find(([, fields]) => fields.includes(field))?.[0] ?? "rate_limit"
}

/** Numbers and flags as they are written, and other values as in other messages. */
function found(value: unknown): string {
  if (!(value instanceof Plain)) return show(value)
  return /^[-+.]?\d|^(true|false)$/.test(value.text) ? value.text.slice(0, 60) : show(value.text)
}
