// The counter key of a request: `user:42`, `apiKey:…,route:/v1/items/:id`. Two requests have the same key only if all parts
// are equal: separators inside a part are escaped, and long values are hashed.

import { createHash } from "node:crypto"
import type { KeyPart } from "../language/key-part.js"
import { asciiLowerCase } from "../language/path-pattern.js"
import { routeOf } from "../match/index.js"
import type { Descriptor, MatchedRule } from "./descriptor.js"
import { filled, type Identity } from "./identity.js"

const MAX_VALUE_LENGTH = 256
const HASHED = "sha256-"

export type MissingKey = "skip" | "ip" | "deny"

/** The key of a request, or undefined if the request lacks a part of it. With `onMissing: "ip"` its address takes that place. */
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
    if (value === undefined && isClient(part) && identity.client !== undefined)
      [text, value] = namedClient(identity.client, identity)
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
      // Rules match methods in any case.
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

/** In lower case: rules match paths in any case, so `/users/bob` and `/users/BOB` have one key. */
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

/** The key part of a client that the application names: `user:42` is the same counter whatever the rule counts by. */
function namedClient(client: string, identity: Identity): [text: string, value: string] {
  if (client.startsWith("user:")) return ["user", client.slice("user:".length)]
  if (client.startsWith("ip:") && identity.ipKey !== undefined) return ["ip", identity.ipKey]
  return ["client", client]
}

/** Hashes a value that is long, or that starts like a hash: no client can choose a value that equals another one's hash. */
function bounded(value: string): string {
  if (value.length <= MAX_VALUE_LENGTH && !value.startsWith(HASHED)) return value
  return HASHED + createHash("sha256").update(value).digest().subarray(0, 16).toString("base64url")
}
