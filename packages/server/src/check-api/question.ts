// Reads a question from a body: about a request that it describes, or about one rule and a key by name.

import { SluiceError } from "sluice"
import type { KeyCheckOptions, RuleCheckOptions, RuleDecision, RuleRequest } from "sluice/rules"
import { ask, askKey, type Core, type Protocol } from "../core.js"
import { isObject } from "../http/body.js"

export type AskedRequest = RuleRequest & RuleCheckOptions
export type AskedKey = KeyCheckOptions & { readonly rule: string; readonly key: string }
export type Question = AskedRequest | AskedKey

/** The fields of a body that describes a request. */
export const REQUEST_FIELDS = [
  "method",
  "host",
  "path",
  "ip",
  "user",
  "apiKey",
  "tier",
  "client",
  "domain",
  "route",
  "headers",
  "descriptors",
  "body",
]
/** The fields of a body that names a rule and a key. */
export const KEY_FIELDS = ["rule", "key", "tier"]
/** The fields of every check. */
export const CHARGE_FIELDS = ["cost", "at"]

/** As long as the head of a request may be. It took 18 ms to make a path of 240,000 characters canonical. */
const MAX_TEXT_LENGTH = 16_384
const MAX_HEADERS = 1_000
const MAX_DESCRIPTORS = 256

type Body = Record<string, unknown>
type Reader = (value: unknown, place: string) => unknown

/** The reader of a field. */
function readerOf(name: string): Reader | undefined {
  switch (name) {
    case "method":
    case "path":
    case "host":
    case "ip":
    case "user":
    case "apiKey":
    case "tier":
    case "client":
    case "domain":
    case "route":
    case "rule":
    case "key":
      return text
    case "headers":
      return headers
    case "descriptors":
      return descriptors
    case "body":
      return object
    // The engine checks the value of a number; here only its type is checked.
    case "cost":
    case "at":
      return number
    default:
      return undefined
  }
}

/** Checks a question in place: the parsed object becomes the request. Throws BODY_* errors. */
export function readQuestion(body: Body, place: string): Question {
  for (const name in body) {
    const reader = readerOf(name)
    if (reader === undefined) throw unknownField(name, place, knownTo(body))
    const value = body[name]
    if (reader !== text) body[name] = reader(value, placeOf(place, name))
    else if (typeof value !== "string" || value.length > MAX_TEXT_LENGTH) text(value, placeOf(place, name))
  }
  if (body.key !== undefined || body.rule !== undefined) checkKeyQuestion(body, place)
  return body as unknown as Question
}

/** Reads a question that charges nothing: it may have no cost. */
export function readLook(body: Body, place: string): Question {
  if ("cost" in body) throw unknownField("cost", place, without(knownTo(body), "cost"))
  return readQuestion(body, place)
}

/** Reads a question that acquires a hold. It takes no time: a hold begins now, and ends by the clock of the store. */
export function readAcquire(body: Body): Question {
  if ("at" in body) throw unknownField("at", "", without(knownTo(body), "at"))
  return readQuestion(body, "")
}

/** Reads a question about a rule and a key, with these fields only. */
export function readKey(body: Body, place: string, fields: readonly string[]): AskedKey {
  for (const name in body) if (!fields.includes(name)) throw unknownField(name, place, fields)
  for (const name of ["rule", "key"]) {
    if (body[name] === undefined)
      throw new SluiceError("BODY_FIELD_INVALID", { place: placeOf(place, name), expected: "is required" })
  }
  return readQuestion(body, place) as AskedKey
}

/** Reads a question about a request, not about a rule and a key. */
export function readRequest(body: Body, place: string): AskedRequest {
  const fields = [...REQUEST_FIELDS, ...CHARGE_FIELDS]
  for (const name in body) if (!fields.includes(name)) throw unknownField(name, place, fields)
  return readQuestion(body, place) as AskedRequest
}

export function isAboutKey(question: Question): question is AskedKey {
  return "key" in question
}

/** Decides. Returns a promise only where the store needs one. */
export function decide(
  core: Core,
  protocol: Protocol,
  question: Question,
): RuleDecision | Promise<RuleDecision> {
  return isAboutKey(question)
    ? askKey(core, protocol, question.rule, question.key, question)
    : ask(core, protocol, question, question)
}

function checkKeyQuestion(body: Body, place: string): void {
  const fields = [...KEY_FIELDS, ...CHARGE_FIELDS]
  for (const name of ["rule", "key"]) {
    if (body[name] === undefined) {
      throw new SluiceError("BODY_FIELD_INVALID", {
        place: placeOf(place, name),
        expected: "is required: rule and key must be given together",
      })
    }
  }
  for (const name in body) {
    if (!fields.includes(name)) {
      throw new SluiceError("BODY_FIELD_INVALID", {
        place: placeOf(place, name),
        expected: `cannot be combined with rule and key; these allow only ${fields.slice(2).join(", ")}`,
      })
    }
  }
}

/** The fields to name in an error. */
function knownTo(body: Body): readonly string[] {
  const about = "key" in body || "rule" in body ? KEY_FIELDS : ["rule", "key", ...REQUEST_FIELDS]
  return [...about, ...CHARGE_FIELDS]
}

function without(fields: readonly string[], name: string): readonly string[] {
  return fields.filter((field) => field !== name)
}

function text(value: unknown, place: string): unknown {
  if (typeof value === "string" && value.length <= MAX_TEXT_LENGTH) return value
  throw invalid(place, `must be text of at most ${MAX_TEXT_LENGTH} characters`, value)
}

function object(value: unknown, place: string): unknown {
  if (!isObject(value)) throw invalid(place, "must be a JSON object", value)
  return value
}

function number(value: unknown, place: string): unknown {
  if (typeof value !== "number") throw invalid(place, "must be a number", value)
  return value
}

/** Headers by lower-case name. The object has no prototype, because a name may be anything. */
function headers(value: unknown, place: string): Readonly<Record<string, string | readonly string[]>> {
  if (!isObject(value)) throw invalid(place, "must be an object of names and strings", value)
  const lower: Record<string, string | readonly string[]> = Object.create(null)
  let several: Map<string, string[]> | undefined
  let count = 0
  for (const name in value) {
    if (++count > MAX_HEADERS) throw invalid(place, `may have ${MAX_HEADERS} names at most`, value)
    const given = value[name]
    if (!isHeaderValue(given))
      throw invalid(`${place}[${shown(name)}]`, "must be a string or a list of strings", given)
    const key = name.toLowerCase()
    const before = lower[key]
    if (before === undefined) lower[key] = given
    else {
      // One list per name, which grows: copying it for each value would take quadratic time.
      const list = several?.get(key) ?? (typeof before === "string" ? [before] : [...before])
      for (const one of typeof given === "string" ? [given] : given) list.push(one)
      several ??= new Map()
      several.set(key, list)
      lower[key] = list
    }
  }
  return lower
}

function isHeaderValue(value: unknown): value is string | string[] {
  if (typeof value === "string") return true
  return Array.isArray(value) && value.every((item) => typeof item === "string")
}

function descriptors(value: unknown, place: string): unknown {
  if (!Array.isArray(value) || value.length > MAX_DESCRIPTORS)
    throw invalid(place, `must be a list of at most ${MAX_DESCRIPTORS} descriptors`, value)
  value.forEach((descriptor: unknown, i) => {
    const at = `${place}[${i}]`
    if (!isObject(descriptor) || !Array.isArray(descriptor.entries))
      throw invalid(at, "must be an object with a list of entries", descriptor)
    for (const name in descriptor)
      if (name !== "entries" && name !== "cost") throw unknownField(name, at, ["entries", "cost"])
    if (descriptor.cost !== undefined) number(descriptor.cost, `${at}.cost`)
    descriptor.entries.forEach((entry: unknown, j) => {
      const entryAt = `${at}.entries[${j}]`
      if (!isObject(entry)) throw invalid(entryAt, "must be an object with a key and a value", entry)
      text(entry.key, `${entryAt}.key`)
      text(entry.value, `${entryAt}.value`)
      for (const name in entry)
        if (name !== "key" && name !== "value") throw unknownField(name, entryAt, ["key", "value"])
    })
  })
  return value
}

function invalid(place: string, expected: string, found: unknown): SluiceError {
  return new SluiceError("BODY_FIELD_INVALID", { place, expected, found })
}

function unknownField(name: string, place: string, known: readonly string[]): SluiceError {
  return new SluiceError("BODY_UNKNOWN_FIELD", {
    place: place === "" ? "body" : place,
    expected: `has no field ${shown(name)}; the fields are ${known.join(", ")}`,
  })
}

function placeOf(place: string, name: string): string {
  return place === "" ? name : `${place}.${name}`
}

/** A name from the body, short enough for a message. */
function shown(name: string): string {
  return JSON.stringify(name.length > 60 ? `${name.slice(0, 57)}…` : name)
}
