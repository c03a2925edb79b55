// Finds the values of a few fields in JSON that arrives in pieces. It keeps no document: its memory is bounded whatever arrives,
// so it can look at a stream of any length. It accepts some texts that are not valid JSON; it only has to find fields.

/** A name in the paths of the fields to find. Names are in lower case: fields are found whatever the case of their letters. */
export interface FieldNode {
  readonly children: Map<string, FieldNode>
  /** The fields whose paths end here. */
  readonly fields: string[]
}

export interface FieldSink {
  /** Each value of a field, in the order in which they occur. Numbers are 0 or more. */
  found(field: string, value: number | string): void
  /** The outermost object, in which the fields found so far are, has ended. */
  ended(): void
}

// What the scanner expects next.
const VALUE = 0
const KEY = 1
const IN_KEY = 2
const COLON = 3
const STRING = 4
const SCALAR = 5
const SKIPPED = 6
const SKIPPED_STRING = 7

const QUOTE = 0x22
const BACKSLASH = 0x5c
const COMMA = 0x2c
const OPEN_BRACE = 0x7b
const CLOSE_BRACE = 0x7d
const OPEN_BRACKET = 0x5b
const CLOSE_BRACKET = 0x5d
/** Stands before each text of application/json-seq. */
const RECORD_SEPARATOR = 0x1e

/** Bytes of a name or a value that are kept. A longer one is none that anybody asked for. */
const MAX_TEXT = 256
const NUMBER = /^\d{1,15}(\.\d+)?$/

export class JsonScanner {
  readonly #root: FieldNode
  readonly #sink: FieldSink
  /** The objects around the current place, as far as the fields are in them. */
  readonly #path: FieldNode[] = []
  /** What the paths have at the current value. */
  #node: FieldNode | undefined
  #state = VALUE
  /** How many containers that hold none of the fields are open. */
  #skipped = 0
  #isEscaped = false
  #hasEscape = false
  readonly #text = new Uint8Array(MAX_TEXT)
  #length = 0
  #isBroken = false

  constructor(root: FieldNode, sink: FieldSink) {
    this.#root = root
    this.#sink = sink
  }

  /** Whether what has arrived consists of whole values. */
  get isWhole(): boolean {
    return !this.#isBroken && this.#state === VALUE && this.#path.length === 0
  }

  /** Forgets everything: what is written next begins a new text. */
  reset(): void {
    this.#path.length = 0
    this.#state = VALUE
    this.#skipped = 0
    this.#isBroken = false
  }

  write(bytes: Uint8Array, from = 0, to = bytes.length): void {
    let i = from
    while (i < to && !this.#isBroken) {
      if (this.#state >= SKIPPED) i = this.#skip(bytes, i, to)
      else if (this.#state === STRING || this.#state === IN_KEY) i = this.#readString(bytes, i, to)
      else if (this.#state === SCALAR) i = this.#readScalar(bytes, i, to)
      else {
        const byte = bytes[i++] as number
        if (!isSpace(byte)) this.#read(byte)
      }
    }
  }

  #read(byte: number): void {
    if (this.#state === VALUE) this.#begin(byte)
    else if (this.#state === COLON) {
      if (byte === 0x3a) this.#state = VALUE
      else this.#isBroken = true
    } else if (byte === QUOTE) this.#capture(IN_KEY)
    else if (byte === CLOSE_BRACE) {
      this.#path.pop()
      this.#ended()
      if (this.#path.length === 0) this.#sink.ended()
    } else if (byte !== COMMA) this.#isBroken = true
  }

  /** The first byte of a value. */
  #begin(byte: number): void {
    const isTop = this.#path.length === 0
    const node = isTop ? this.#root : this.#node
    if (byte === OPEN_BRACE) {
      if (node !== undefined && node.children.size > 0) {
        this.#path.push(node)
        this.#state = KEY
      } else this.#skipFrom()
    } else if (byte === QUOTE) this.#capture(STRING)
    else if (byte === OPEN_BRACKET) {
      // A list of answers is a stream of answers. Other lists hold no fields.
      if (!isTop) this.#skipFrom()
    } else if (isTop && (byte === COMMA || byte === CLOSE_BRACKET)) return
    else if (isScalar(byte)) {
      this.#capture(SCALAR)
      this.#keep(byte)
    } else this.#isBroken = true
  }

  #capture(state: number): void {
    this.#state = state
    this.#length = 0
    this.#isEscaped = false
    this.#hasEscape = false
  }

  #keep(byte: number): void {
    if (this.#length < MAX_TEXT) this.#text[this.#length] = byte
    this.#length++
  }

  #skipFrom(): void {
    this.#skipped = 1
    this.#state = SKIPPED
  }

  #ended(): void {
    this.#state = this.#path.length === 0 ? VALUE : KEY
  }

  /** Reads a name, or a string that may be the value of a field. */
  #readString(bytes: Uint8Array, from: number, to: number): number {
    const isKept = this.#state === IN_KEY || this.#isWanted
    for (let i = from; i < to; i++) {
      const byte = bytes[i] as number
      if (this.#isEscaped) this.#isEscaped = false
      else if (byte === QUOTE) {
        if (this.#state === IN_KEY) this.#keyEnded()
        else {
          const text = isKept ? this.#string() : undefined
          if (text !== undefined) this.#report(text)
          this.#ended()
        }
        return i + 1
      } else if (byte === BACKSLASH) {
        this.#isEscaped = true
        this.#hasEscape = true
      }
      if (isKept) this.#keep(byte)
    }
    return to
  }

  #keyEnded(): void {
    const name = this.#string()?.toLowerCase()
    const parent = this.#path[this.#path.length - 1] as FieldNode
    this.#node = name === undefined ? undefined : parent.children.get(name)
    this.#state = COLON
  }

  #readScalar(bytes: Uint8Array, from: number, to: number): number {
    for (let i = from; i < to; i++) {
      const byte = bytes[i] as number
      if (isScalar(byte)) this.#keep(byte)
      else {
        if (this.#isWanted && this.#length <= MAX_TEXT) {
          const text = ascii(this.#text, this.#length)
          if (NUMBER.test(text)) this.#report(Number(text))
        }
        this.#ended()
        return i
      }
    }
    return to
  }

  #skip(bytes: Uint8Array, from: number, to: number): number {
    let isString = this.#state === SKIPPED_STRING
    let isEscaped = this.#isEscaped
    let depth = this.#skipped
    for (let i = from; i < to; i++) {
      const byte = bytes[i] as number
      if (isString) {
        if (isEscaped) isEscaped = false
        else if (byte === QUOTE) isString = false
        else if (byte === BACKSLASH) isEscaped = true
      } else if (byte === QUOTE) {
        isString = true
        isEscaped = false
      } else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) depth++
      else if ((byte === CLOSE_BRACE || byte === CLOSE_BRACKET) && --depth === 0) {
        this.#skipped = 0
        this.#ended()
        return i + 1
      }
    }
    this.#state = isString ? SKIPPED_STRING : SKIPPED
    this.#isEscaped = isEscaped
    this.#skipped = depth
    return to
  }

  get #isWanted(): boolean {
    return this.#path.length > 0 && this.#node !== undefined && this.#node.fields.length > 0
  }

  #report(value: number | string): void {
    for (const field of (this.#node as FieldNode).fields) this.#sink.found(field, value)
  }

  /** The string that was read; undefined if it is too long or not valid. */
  #string(): string | undefined {
    const length = this.#length
    if (length > MAX_TEXT) return undefined
    if (!this.#hasEscape) return utf8(this.#text, length)
    try {
      return JSON.parse(`"${utf8(this.#text, length)}"`) as string
    } catch {
      return undefined
    }
  }
}

function isSpace(byte: number): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09 || byte === RECORD_SEPARATOR
}

/** Letters, digits, and the signs of numbers. */
function isScalar(byte: number): boolean {
  return (
    (byte >= 0x30 && byte <= 0x39) ||
    (byte >= 0x61 && byte <= 0x7a) ||
    (byte >= 0x41 && byte <= 0x5a) ||
    byte === 0x2d ||
    byte === 0x2b ||
    byte === 0x2e
  )
}

function ascii(bytes: Uint8Array, length: number): string {
  let text = ""
  for (let i = 0; i < length; i++) text += String.fromCharCode(bytes[i] as number)
  return text
}

const decoder = /* @__PURE__ */ new TextDecoder()

function utf8(bytes: Uint8Array, length: number): string {
  for (let i = 0; i < length; i++) {
    if ((bytes[i] as number) > 0x7f) return decoder.decode(bytes.subarray(0, length))
  }
  return ascii(bytes, length)
}
