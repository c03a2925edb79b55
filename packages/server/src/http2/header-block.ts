// Headers to a block of bytes. Every header is written out, and none is put into a table: blocks that are sent over and over
// are made once, and mean the same on every connection.

/** The place of names in the static table that are sent here. */
const NAMES: Readonly<Record<string, number>> = { ":status": 8, "content-type": 31 }

/** A header that is in the static table as a whole. */
const STATUS_200 = 0x88

export function headerBlock(headers: Readonly<Record<string, string>>): Buffer {
  const parts: Buffer[] = []
  for (const [name, value] of Object.entries(headers)) {
    if (name === ":status" && value === "200") parts.push(Buffer.of(STATUS_200))
    else parts.push(nameOf(name), text(value))
  }
  return Buffer.concat(parts)
}

/** A literal that is not to be indexed. */
function nameOf(name: string): Buffer {
  const index = NAMES[name]
  return index === undefined ? Buffer.concat([Buffer.of(0), text(name)]) : integer(index, 4)
}

function text(value: string): Buffer {
  const bytes = Buffer.from(value, "latin1")
  return Buffer.concat([integer(bytes.length, 7), bytes])
}

function integer(value: number, prefixBits: number): Buffer {
  const most = (1 << prefixBits) - 1
  if (value < most) return Buffer.of(value)
  const bytes = [most]
  for (value -= most; value >= 0x80; value >>>= 7) bytes.push((value & 0x7f) | 0x80)
  return Buffer.from([...bytes, value])
}
