// The headers of an upstream's answer as the client gets them.

import type { AnswerHead } from "./answer-head.js"
import { answerKind, namedInConnection, PASS } from "./header-kinds.js"

/**
 * `own`: headers of ours in lower case, which take the place of the upstream's of the same name. A list of the caller's own:
 * those of the upstream are added to it.
 */
export function answerHeaders(head: AnswerHead, own: string[]): string[] {
  const { headers, connection, status } = head
  const named = namedInConnection(connection)
  const ours = own.length
  for (let i = 0; i < headers.length; i += 2) {
    const name = headers[i] as string
    if (answerKind(name) !== PASS) continue
    if (ours > 0 && isOneOf(own, ours, name)) continue
    if (named.size > 0 && named.has(name.toLowerCase()) && !isFraming(name)) continue
    // RFC 9110, 8.6: an answer without content has no length of it either.
    if (status === 204 && isFraming(name)) continue
    own.push(name, headers[i + 1] as string)
  }
  return own
}

function isFraming(name: string): boolean {
  return name.length === "content-length".length && name.toLowerCase() === "content-length"
}

/** Whether it is the name of one of the first in a list. */
function isOneOf(list: readonly string[], length: number, name: string): boolean {
  for (let i = 0; i < length; i += 2) {
    const other = list[i] as string
    if (other.length === name.length && other === name.toLowerCase()) return true
  }
  return false
}

/** By lower-case name, several lines joined by a comma. */
export function byName(headers: readonly string[]): Record<string, string> {
  const found: Record<string, string> = Object.create(null)
  for (let i = 0; i < headers.length; i += 2) {
    const name = (headers[i] as string).toLowerCase()
    const value = headers[i + 1] as string
    found[name] = found[name] === undefined ? value : `${found[name]}, ${value}`
  }
  return found
}
