// Reads the `Forwarded` header (RFC 7239) from right to left. Proxies append on the right, so only that end can be trusted. Read
// from the left, an opening quote from the client would hide everything that proxies wrote after it.

import { canonicalIp } from "./ip-address.js"

export interface ForwardedElement {
  /** The value as it is written: an address, `unknown`, or an obfuscated name. */
  readonly for: string | undefined
  readonly proto: string | undefined
  readonly host: string | undefined
}

/** The start of the last element before `end`: the position after the next comma to the left that is not in quotes. */
export function elementStart(header: string, end: number): number {
  for (let i = end - 1; i >= 0; i--) {
    if (header[i] === ",") return i + 1
    if (header[i] === '"') i = openingQuote(header, i)
  }
  return 0
}

/** The position of the quote that opens the quoted string, or -1. */
function openingQuote(header: string, closing: number): number {
  let i = closing
  do {
    i = i === 0 ? -1 : header.lastIndexOf('"', i - 1)
  } while (i > 0 && isEscaped(header, i))
  return i
}

function isEscaped(header: string, at: number): boolean {
  let backslashes = 0
  while (header[at - 1 - backslashes] === "\\") backslashes++
  return backslashes % 2 === 1
}

const pair = /[ \t]*([\w!#$%&'*+.^`|~-]+)=(?:"((?:[^"\\]|\\.)*)"|([^\s",;]+))[ \t]*(?:;|$)/y

/** Parses one element. Returns undefined if it is malformed or has one of these parameters twice. */
export function parseElement(text: string): ForwardedElement | undefined {
  const element: Record<keyof ForwardedElement, string | undefined> = {
    for: undefined,
    proto: undefined,
    host: undefined,
  }
  for (let at = 0; at < text.length; at = pair.lastIndex) {
    pair.lastIndex = at
    const match = pair.exec(text)
    if (match === null) return undefined
    const name = (match[1] as string).toLowerCase()
    if (name !== "for" && name !== "proto" && name !== "host") continue
    if (element[name] !== undefined) return undefined
    element[name] = match[2] === undefined ? match[3] : match[2].replace(/\\(.)/g, "$1")
  }
  return element
}

/**
 * Parses the address of one hop in either header: `192.0.2.7`, `192.0.2.7:80`, `[2001:db8::7]`, `[2001:db8::7]:80`, or IPv6
 * without brackets. Returns undefined for everything else, including names such as `unknown` or `_hidden`.
 */
export function hopAddress(text: string): string | undefined {
  const plain = canonicalIp(text)
  if (plain !== undefined || text.length > 128) return plain
  const parts = /^(?:\[([^\]]*:[^\]]*)\]|([^:[\]]+))(?::(?:\d{1,5}|_[\w.-]+))?$/.exec(text)
  return parts === null ? undefined : canonicalIp(parts[1] ?? parts[2] ?? "")
}
