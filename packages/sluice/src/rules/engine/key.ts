// How a rule's counter key is taken from a request. Keys read as people would write them, `user:42`,
// `apiKey:…,route:/v1/items/:id`, and are safe to join: the number of parts is the rule's own, what separates them is
// escaped inside them, and what is long is hashed.

import { createHash } from "node:crypto"
import { SluiceError } from "../../errors.js"
import { routeOf } from "../match/index.js"
import { asciiLowerCase } from "../match/path-form.js"
import type { Descriptor, MatchedRule } from "./descriptor.js"
import type { Identity } from "./identity.js"

const PLAIN = ["ip", "user", "apiKey", "method", "route", "host", "global", "descriptor"] as const
const NAMED = ["header", "query", "cookie", "param", "descriptor"] as const
const LONGEST_VALUE = 256
const HASHED = "sha256-"

export interface KeyPart {
  /** As it is written in the rule: `ip`, `header:x-tenant`. */
  readonly text: string
  readonly kind: (typeof PLAIN)[number] | (typeof NAMED)[number]
  /** The name behind the colon; of headers in lower case. */
  readonly name: string
}

export function parseKeyPart(text: string, place: string): KeyPart {
  if ((PLAIN as readonly string[]).includes(text))
    return { text, kind: text as (typeof PLAIN)[number], name: "" }
  const colon = text.indexOf(":")
  const kind = text.slice(0, colon)
  const name = text.slice(colon + 1)
  const isName = kind === "descriptor" ? /^\d{1,2}$/ : /^[\x21-\x7e]{1,128}$/
  if (!(NAMED as readonly string[]).includes(kind) || !isName.test(name)) {
    throw new SluiceError("RULE_FIELD_INVALID", {
      place,
      expected: `must be one of ${PLAIN.join(", ")}, or header:…, query:…, cookie:…, param:… with a name`,
      found: text,
    })
  }
  return {
    text: kind === "header" ? text.toLowerCase() : text,
    kind: kind as (typeof NAMED)[number],
    name: kind === "header" ? name.toLowerCase() : name,
  }
}

export type MissingKey = "skip" | "ip" | "deny"

/**
 * The key of a request, or undefined if the request lacks a part of it. Such a part is taken from its address when `onMissing`
 * says so.
 */
export function keyOf(
  parts: readonly KeyPart[],
  identity: Identity,
  matched: MatchedRule,
  onMissing: MissingKey,
): string | undefined {
  if (parts.length === 1 && parts[0]?.kind === "ip") {
    const { addressKey } = identity
    if (addressKey !== undefined) return addressKey
  }
  let key = ""
  for (const part of parts) {
    let text = part.text
    let value = partOf(part, identity, matched)
    if (value === undefined && isClient(part) && identity.client !== undefined) {
      text = "client"
      value = identity.client
    }
    if (value === undefined && onMissing === "ip") {
      text = "ip"
      value = identity.ipKey
    }
    if (value === undefined) return undefined
    if (part.kind !== "global") text += `:${bounded(value)}`
    if (parts.length === 1) return text
    key += `${key === "" ? "" : ","}${text.replaceAll("%", "%25").replaceAll(",", "%2C")}`
  }
  return key
}

function partOf(part: KeyPart, identity: Identity, matched: MatchedRule): string | undefined {
  switch (part.kind) {
    case "ip":
      return identity.ipKey
    case "user":
      return identity.user
    case "apiKey":
      return identity.apiKey
    case "method":
      // As rules match it, in any case.
      return filled(identity.method.toUpperCase())
    case "route":
      return identity.route ?? routeOf(matched)
    case "host":
      return identity.countedHost
    case "global":
      return ""
    case "header":
    case "query":
      return identity.counted(part.kind, part.name)
    case "cookie":
      return identity.cookie(part.name)
    case "param":
      return paramOf(matched, part.name)
    case "descriptor":
      return descriptorText(matched.descriptor, part.name)
  }
}

/** In the form in which paths are compared: `/users/bob` and `/users/BOB` are one path to the rule, and so one key. */
function paramOf({ params }: MatchedRule, name: string): string | undefined {
  const value = params?.[name]
  return value === undefined ? undefined : asciiLowerCase(value)
}

/** One value of the descriptor, or all of its entries. */
function descriptorText(descriptor: Descriptor | undefined, index: string): string | undefined {
  if (descriptor === undefined) return undefined
  if (index !== "") return descriptor.entries[Number(index)]?.value
  const { entries } = descriptor
  let text = ""
  for (let i = 0; i < entries.length; i++) {
    const { key, value } = entries[i] as (typeof entries)[number]
    text += `${i === 0 ? "" : "&"}${escaped(key)}=${escaped(value)}`
  }
  return text
}

function escaped(text: string): string {
  return /[%&=]/.test(text) ? text.replace(/[%&=]/g, (char) => encodeURIComponent(char)) : text
}

function isClient({ kind }: KeyPart): boolean {
  return kind === "ip" || kind === "user" || kind === "apiKey"
}

function filled(value: string | undefined): string | undefined {
  return value === "" ? undefined : value
}

/** Long values are hashed, and so are those that look as if they had been. */
function bounded(value: string): string {
  if (value.length <= LONGEST_VALUE && !value.startsWith(HASHED)) return value
  return HASHED + createHash("sha256").update(value).digest().subarray(0, 16).toString("base64url")
}
