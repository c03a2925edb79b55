// A header as HPACK delivers it. It is classified once, when it is first seen: later requests of a connection mostly refer to
// it by its index in the table.

/** The role of a header in a request. */
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
  // These belong to an HTTP/1 connection and are malformed in HTTP/2 (RFC 9113, section 8.2.2).
  ["connection", KIND.MALFORMED],
  ["keep-alive", KIND.MALFORMED],
  ["proxy-connection", KIND.MALFORMED],
  ["transfer-encoding", KIND.MALFORMED],
  ["upgrade", KIND.MALFORMED],
])

/** RFC 7541, section 4.1, adds this to the bytes of each header. */
const OVERHEAD = 32

export class HeaderField {
  readonly name: string
  readonly value: string
  /** The size as tables and header lists count it. */
  readonly size: number
  readonly kind: number

  /** Name and value are latin1: one character per byte. */
  constructor(name: string, value: string) {
    this.name = name
    this.value = value
    this.size = name.length + value.length + OVERHEAD
    this.kind = kindOf(name, value)
  }
}

/** Lower case, and a colon only at the beginning, where it marks a pseudo-header. */
const NAME = /^:?[!#$%&'*+\-.^_`|~0-9a-z]+$/
const DIGITS = /^\d{1,15}$/

function kindOf(name: string, value: string): number {
  if (!NAME.test(name) || !isValue(value)) return KIND.MALFORMED
  const kind = KINDS.get(name) ?? KIND.ORDINARY
  if (kind === KIND.ORDINARY && name[0] === ":") return KIND.MALFORMED
  if (kind === KIND.LENGTH && !DIGITS.test(value)) return KIND.MALFORMED
  return name === "te" && value !== "trailers" ? KIND.MALFORMED : kind
}

/** A value has no line break or NUL, and no blanks around it (RFC 9113, section 8.2.1). */
function isValue(value: string): boolean {
  if (value.includes("\0") || value.includes("\r") || value.includes("\n")) return false
  const first = value[0]
  const last = value[value.length - 1]
  return first !== " " && first !== "\t" && last !== " " && last !== "\t"
}
