// A header as HPACK hands it out. What has to be known of it is found out once, when it is first seen: most headers of a
// connection are then named by their place in a table, request after request.

/** What a header is to a request. */
export const KIND = {
  ORDINARY: 0,
  METHOD: 1,
  SCHEME: 2,
  PATH: 3,
  AUTHORITY: 4,
  LENGTH: 5,
  MALFORMED: 6,
} as const

const KINDS: ReadonlyMap<string, number> = new Map([
  [":method", KIND.METHOD],
  [":scheme", KIND.SCHEME],
  [":path", KIND.PATH],
  [":authority", KIND.AUTHORITY],
  ["content-length", KIND.LENGTH],
  // Of a connection in HTTP/1; here they could only mislead.
  ["connection", KIND.MALFORMED],
  ["keep-alive", KIND.MALFORMED],
  ["proxy-connection", KIND.MALFORMED],
  ["transfer-encoding", KIND.MALFORMED],
  ["upgrade", KIND.MALFORMED],
])

/** What RFC 7541, section 4.1, adds to the bytes of a header. */
const OVERHEAD = 32

export class HeaderField {
  readonly name: string
  readonly value: string
  /** As tables and lists of headers count it. */
  readonly size: number
  readonly kind: number

  /** Both are latin1: a character for each byte. */
  constructor(name: string, value: string) {
    this.name = name
    this.value = value
    this.size = name.length + value.length + OVERHEAD
    this.kind = kindOf(name, value)
  }
}

/** Lower case and no colon, but for the headers of HTTP/2 itself, which start with one. */
const NAME = /^:?[!#$%&'*+\-.^_`|~0-9a-z]+$/
const DIGITS = /^\d{1,15}$/

function kindOf(name: string, value: string): number {
  if (!NAME.test(name) || !isValue(value)) return KIND.MALFORMED
  const kind = KINDS.get(name) ?? KIND.ORDINARY
  if (kind === KIND.ORDINARY && name[0] === ":") return KIND.MALFORMED
  if (kind === KIND.LENGTH && !DIGITS.test(value)) return KIND.MALFORMED
  return name === "te" && value !== "trailers" ? KIND.MALFORMED : kind
}

/** What a value must not have, RFC 9113, section 8.2.1: an end of line, or blanks around it. */
function isValue(value: string): boolean {
  if (value.includes("\0") || value.includes("\r") || value.includes("\n")) return false
  const first = value[0]
  const last = value[value.length - 1]
  return first !== " " && first !== "\t" && last !== " " && last !== "\t"
}
