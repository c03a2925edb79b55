/** A RESP2 reply. Errors inside an array stay values; an error as the whole reply rejects the command. */
export type RespReply = string | number | null | RespError | RespReply[]

/** `latin1` preserves every byte in both directions. */
export type RespEncoding = "utf8" | "latin1"

/** An error that the server sent. `code` is its first word: `MOVED`, `NOSCRIPT`, `ERR`. */
export class RespError extends Error {
  override readonly name = "RespError"
  readonly code: string

  constructor(message: string) {
    super(message)
    this.code = message.split(" ", 1)[0] ?? ""
  }
}

export function encodeCommand(args: readonly (string | number)[], encoding: RespEncoding = "utf8"): Buffer {
  const parts = [Buffer.from(`*${args.length}\r\n`)]
  for (const arg of args) {
    const bytes = Buffer.from(String(arg), encoding)
    parts.push(Buffer.from(`$${bytes.length}\r\n`), bytes, Buffer.from("\r\n"))
  }
  return Buffer.concat(parts)
}

interface Parsed {
  readonly reply: RespReply
  readonly next: number
}

/** Parses one reply at `offset`. Returns `undefined` if the reply is incomplete. Throws if the bytes are not RESP2. */
export function parseReply(
  bytes: Buffer,
  offset: number,
  encoding: RespEncoding = "utf8",
): Parsed | undefined {
  const lineEnd = bytes.indexOf("\r\n", offset)
  if (lineEnd === -1) return undefined
  const type = String.fromCharCode(bytes[offset] ?? 0)
  const line = bytes.toString(encoding, offset + 1, lineEnd)
  const next = lineEnd + 2
  switch (type) {
    case "+":
      return { reply: line, next }
    case "-":
      return { reply: new RespError(line), next }
    case ":":
      return { reply: parseInteger(line), next }
    case "$":
      return parseBulk(bytes, next, parseInteger(line), encoding)
    case "*":
      return parseArray(bytes, next, parseInteger(line), encoding)
    default:
      throw new Error(`not a RESP2 reply: ${JSON.stringify(type + line)}`)
  }
}

function parseBulk(bytes: Buffer, start: number, length: number, encoding: RespEncoding): Parsed | undefined {
  if (length === -1) return { reply: null, next: start }
  if (length < 0) throw new Error(`bulk string of length ${length}`)
  const end = start + length
  if (bytes.length < end + 2) return undefined
  if (bytes[end] !== 0x0d || bytes[end + 1] !== 0x0a) throw new Error("bulk string does not end with CRLF")
  return { reply: bytes.toString(encoding, start, end), next: end + 2 }
}

function parseArray(
  bytes: Buffer,
  start: number,
  length: number,
  encoding: RespEncoding,
): Parsed | undefined {
  if (length === -1) return { reply: null, next: start }
  if (length < 0) throw new Error(`array of length ${length}`)
  const items: RespReply[] = []
  let next = start
  while (items.length < length) {
    const item = parseReply(bytes, next, encoding)
    if (item === undefined) return undefined
    items.push(item.reply)
    next = item.next
  }
  return { reply: items, next }
}

function parseInteger(text: string): number {
  if (!/^-?\d+$/.test(text)) throw new Error(`not an integer: ${JSON.stringify(text)}`)
  return Number(text)
}
