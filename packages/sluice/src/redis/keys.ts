// Storage keys: `s1:` + space + `:{` + the caller's key + `}`. The version comes first, so that another layout can live beside
// it. The braces make the caller's key the hash tag: all limits of one key share a slot of a Cluster.

import type { Charge } from "../stores/store.js"

/** Longer keys are stored by their SHA-256, so that nobody fills Redis with the length of a header. */
const LONGEST = 128

/**
 * What Redis or a person could misread inside a key: braces would end the hash tag early and let a caller pick the slot,
 * control characters would break a log line, and `%` and `#` mark what was encoded.
 */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for.
const UNSAFE = /[{}%#\u0000-\u0020\u007f]/g

export function storageKey(charge: Charge): string {
  return `s1:${charge.space.name}:{${encodeKey(charge.key)}}`
}

export function encodeKey(key: string): string {
  if (key.length > LONGEST) return `#${sha256(key)}`
  return key.replace(UNSAFE, (character) => `%${character.charCodeAt(0).toString(16).padStart(2, "0")}`)
}

function sha256(text: string): string {
  return process.getBuiltinModule("node:crypto").createHash("sha256").update(text).digest("base64url")
}
