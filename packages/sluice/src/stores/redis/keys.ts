// Storage keys: `s1:` + namespace + `:{` + the caller's key + `}`. The version comes first, so that another layout can live
// beside it. The braces make the caller's key the hash tag: all limits of one key share a slot of a Cluster.

import { type Charge, DEFAULT_PREFIX, type Namespace } from "../store.js"

/** Longer keys are stored by their SHA-256, so that a client cannot fill Redis with long header values. */
const MAX_KEY_LENGTH = 128

/**
 * Characters that Redis or a reader could misread inside a key. Braces would end the hash tag early and let a client choose
 * the slot, control characters would break a log line, half a surrogate pair has no UTF-8 form, and `%` and `#` mark what
 * was encoded.
 */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for.
const UNSAFE = /[{}%#\u0000-\u0020\u007f\p{Surrogate}]/gu

/** Matches nearly every key: printable characters, none of them unsafe. */
const SAFE = /^[!"$&-z|~]*$/

const prefixes = new WeakMap<Namespace, string>()

export function storageKey(charge: Charge): string {
  return `${prefixOf(charge.namespace)}${encodeKey(charge.key)}}`
}

function prefixOf(namespace: Namespace): string {
  let prefix = prefixes.get(namespace)
  if (prefix === undefined) {
    prefix = `s1:${percentEncode(shortName(namespace))}:{`
    prefixes.set(namespace, prefix)
  }
  return prefix
}

/**
 * Leaves out the default prefix: a key of at most 30 characters takes 16 bytes less in Redis. The colon behind the prefix
 * stays: only a prefix that starts with a colon could give the same key.
 */
function shortName({ name }: Namespace): string {
  return name.startsWith(`${DEFAULT_PREFIX}:`) ? name.slice(DEFAULT_PREFIX.length) : name
}

/** The caller's key as it stands between the braces. */
export function encodeKey(key: string): string {
  // Redis ignores an empty hash tag: the slot would depend on the namespace.
  if (key === "") return "%"
  if (key.length > MAX_KEY_LENGTH) return `#${sha256(percentEncode(key))}`
  return percentEncode(key)
}

function percentEncode(text: string): string {
  if (SAFE.test(text)) return text
  return text.replace(UNSAFE, (character) => `%${character.charCodeAt(0).toString(16).padStart(2, "0")}`)
}

/** Loads node:crypto only when a key is long: `sluice/rules` imports this file, and also runs where there is no node:crypto. */
function sha256(text: string): string {
  return process.getBuiltinModule("node:crypto").createHash("sha256").update(text).digest("base64url")
}

/** CRC16 (XMODEM) of every byte. */
const CRC_TABLE = /* @__PURE__ */ new Uint16Array(256).map((_, byte) => {
  let crc = byte << 8
  for (let bit = 0; bit < 8; bit++) crc = crc & 0x8000 ? (crc << 1) ^ 0x1021 : crc << 1
  return crc
})

/** Which of the 16384 slots of a Cluster holds a storage key: CRC16 of its hash tag. */
export function keyslot(key: string): number {
  const open = key.indexOf("{")
  const close = open < 0 ? -1 : key.indexOf("}", open + 1)
  const tag = close > open + 1 ? key.slice(open + 1, close) : key
  let crc = 0
  for (const byte of Buffer.from(tag))
    crc = ((crc << 8) ^ (CRC_TABLE[((crc >> 8) ^ byte) & 0xff] as number)) & 0xffff
  return crc & 0x3fff
}
