// The headers of an upstream's answer as the client gets them.

import type { AnswerHead } from "../upstream/answer-head.js"
import { answerKind, namedInConnection, PASS } from "./header-kinds.js"

const CR = 0x0d
const SPACE = 0x20

/**
 * `own`: headers of ours in lower case, which take the place of the upstream's of the same name. A list of the caller's own:
 * those of the upstream are added to it.
 */
export function answerHeaders(head: AnswerHead, own: string[]): string[] {
  const { headers } = head
  const names = own.filter((_, i) => i % 2 === 0)
  const named = namedInConnection(head.connection)
  for (let i = 0; i < headers.length; i += 2) {
    const name = headers[i] as string
    if (isPassed(name, head.status, names, named)) own.push(name, headers[i + 1] as string)
  }
  return own
}

/**
 * Those of the upstream as lines, each with its end. `names` are those of ours. Lines that follow each other and are written
 * as we write them, as nearly all are, are one piece of what has come.
 */
export function answerLines(head: AnswerHead, names: readonly string[]): string {
  const { text, headers, status } = head
  const named = namedInConnection(head.connection)
  let lines = ""
  let start = head.fieldsAt
  let at = start
  for (let i = 0; i < headers.length; i += 2) {
    const name = headers[i] as string
    const colon = at + name.length
    const end = colon + 2 + (headers[i + 1] as string).length
    if (text.charCodeAt(colon + 1) !== SPACE || text.charCodeAt(end) !== CR) return oneByOne(head, names)
    at = end + 2
    if (isPassed(name, status, names, named)) continue
    const before = colon - name.length
    if (before > start) lines += text.slice(start, before)
    start = at
  }
  return at > start ? lines + text.slice(start, at) : lines
}

function oneByOne(head: AnswerHead, names: readonly string[]): string {
  const { headers, status } = head
  const named = namedInConnection(head.connection)
  let lines = ""
  for (let i = 0; i < headers.length; i += 2) {
    const name = headers[i] as string
    if (isPassed(name, status, names, named)) lines += `${name}: ${headers[i + 1]}\r\n`
  }
  return lines
}

/** Whether a header of the upstream goes to the client, of an answer with this status, beside ours of these names. */
function isPassed(
  name: string,
  status: number,
  names: readonly string[],
  named: ReadonlySet<string>,
): boolean {
  if (answerKind(name) !== PASS) return false
  if (names.length > 0 && isOneOf(names, name)) return false
  if (named.size > 0 && named.has(name.toLowerCase()) && !isFraming(name)) return false
  // RFC 9110, 8.6: an answer without content, and an interim one, has no length of it either.
  return (status !== 204 && status >= 200) || !isFraming(name)
}

function isFraming(name: string): boolean {
  return name.length === "content-length".length && name.toLowerCase() === "content-length"
}

function isOneOf(names: readonly string[], name: string): boolean {
  for (let i = 0; i < names.length; i++) {
    const other = names[i] as string
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
