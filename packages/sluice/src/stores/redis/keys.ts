// Storage keys: `s1:` + namespace + `:{` + the caller's key + `}`. The version comes first, so that another layout can live beside
// it. The braces make the caller's key the hash tag: all limits of one key share a slot of a Cluster.

import type { Charge, Namespace } from "../store.js"

/** Longer keys are stored by their SHA-256, so that nobody fills Redis with the length of a header. */
const LONGEST = 128

/**
 * What Redis or a person could misread inside a key: braces would end the hash tag early and let a caller pick the slot,
 * control characters would break a log line, half a surrogate pair has no bytes of its own, and `%` and `#` mark what was
 * encoded.
 */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for.
const UNSAFE = /[{}%#\u0000-\u0020\u007f\p{Surrogate}]/gu

/** Nearly every key: printable, and nothing to encode in it. */
const SAFE = /^[!"$&-z|~]*$/

const prefixes = new WeakMap<Namespace, string>()

export function storageKey(charge: Charge): string {
  return `${prefixOf(charge.namespace)}${encodeKey(charge.key)}}`
}

function prefixOf(namespace: Namespace): string {
  let prefix = prefixes.get(namespace)
  if (prefix === undefined) {
    prefix = `s1:${percentEncode(namespace.name)}:{`
    prefixes.set(namespace, prefix)
  }
  return prefix
}

export function encodeKey(key: string): string {
  // An empty hash tag is none: the slot would depend on the namespace.
  if (key === "") return "%"
  if (key.length > LONGEST) return `#${sha256(percentEncode(key))}`
  return percentEncode(key)
}

function percentEncode(text: string): string {
  if (SAFE.test(text)) return text
  return text.replace(UNSAFE, (character) => `%${character.charCodeAt(0).toString(16).padStart(2, "0")}`)
}

function sha256(text: string): string {
  return process.getBuiltinModule("node:crypto").createHash("sha256").update(text).digest("base64url")
}
