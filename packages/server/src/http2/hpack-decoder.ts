// Decodes header blocks (RFC 7541). The cost is bounded by the bytes of a block: a header that a block repeats from the table
// is delivered without copying it.

import { ConnectionError } from "./frame.js"
import { HeaderField } from "./header-field.js"
import { HpackTable } from "./hpack-table.js"
import { decodeHuffman } from "./huffman.js"

/** Receives the headers of a block in order. */
export interface HeaderSink {
  add(field: HeaderField): void
}

const HUFFMAN = 0x80
const MIN_CODE_BITS = 5
/** Seven bits each, which is more than any length or index needs. */
const MAX_INTEGER_BYTES = 4

/** Holds a decoded text for a moment. A longer one gets a buffer of its own. */
const SCRATCH_BYTES = 4_096
const scratch = Buffer.allocUnsafeSlow(SCRATCH_BYTES)

export class HpackDecoder {
  readonly table = new HpackTable()
  #bytes: Buffer = scratch
  #at = 0
  #end = 0

  /** Decodes a whole block. Decode every block of a connection, in order, because each may add to the table. */
  decode(bytes: Buffer, start: number, end: number, sink: HeaderSink): void {
    this.#bytes = bytes
    this.#at = start
    this.#end = end
    let isFirst = true
    while (this.#at < end) {
      const byte = bytes[this.#at++] as number
      if (byte >= 0x80) sink.add(this.table.at(this.#integer(byte, 7)))
      else if (byte >= 0x40) {
        const field = this.#literal(byte, 6)
        this.table.add(field)
        sink.add(field)
      } else if (byte >= 0x20) {
        if (!isFirst) throw broken("a table size update must come before the headers")
        this.table.resize(this.#integer(byte, 5))
        continue
      } else sink.add(this.#literal(byte, 4))
      isFirst = false
    }
  }

  #literal(byte: number, prefixBits: number): HeaderField {
    const index = this.#integer(byte, prefixBits)
    const name = index === 0 ? this.#text() : this.table.at(index).name
    return new HeaderField(name, this.#text())
  }

  #integer(first: number, prefixBits: number): number {
    const most = (1 << prefixBits) - 1
    let value = first & most
    if (value < most) return value
    for (let i = 0; i < MAX_INTEGER_BYTES; i++) {
      const byte = this.#byte()
      value += (byte & 0x7f) << (7 * i)
      if (byte < 0x80) return value
    }
    throw broken("an integer is too long")
  }

  #text(): string {
    const first = this.#byte()
    const length = this.#integer(first & 0x7f, 7)
    const from = this.#at
    const to = from + length
    if (to > this.#end) throw broken("a string is longer than its block")
    this.#at = to
    if ((first & HUFFMAN) === 0) return this.#bytes.toString("latin1", from, to)
    const room = Math.ceil((length * 8) / MIN_CODE_BITS)
    const into = room <= SCRATCH_BYTES ? scratch : Buffer.allocUnsafeSlow(room)
    const decoded = decodeHuffman(this.#bytes, from, to, into)
    if (decoded < 0) throw broken("a string is not valid Huffman code")
    return into.toString("latin1", 0, decoded)
  }

  #byte(): number {
    if (this.#at >= this.#end) throw broken("a block ends inside a header")
    return this.#bytes[this.#at++] as number
  }
}

function broken(message: string): ConnectionError {
  return new ConnectionError("COMPRESSION_ERROR", message)
}
