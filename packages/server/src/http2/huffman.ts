// The Huffman code of HPACK (RFC 7541, appendix B). It is canonical: the lengths of the codes determine the codes.

/** The length in bits of the code of each byte, and of the end of a string, which must not occur. */
// biome-ignore format: sixteen in a line, as bytes are
const LENGTHS = [
  13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28,
  28, 28, 28, 28, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 28,
  6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6,
  5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12, 10,
  13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7,
  7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6,
  15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5,
  6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13, 28,
  20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23, 23, 23, 23, 24, 23,
  24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24,
  22, 21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23,
  21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23,
  26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25,
  19, 21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27, 27,
  20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23,
  26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26,
  30,
]
const END_OF_TEXT = 256

// The decoder reads four bits at a time. An entry holds the tree node that they lead to and the byte that they complete, if
// any. No code is shorter than five bits, so they complete at most one.
const STEP_BITS = 4
const STEPS = 1 << STEP_BITS
const NODES = 256
const HAS_BYTE = 1 << 16
const FAILS = 1 << 17

interface Tree {
  /** Indexed by node × 16 + four bits: the next node, shifted above it the byte, and above that the flags. */
  readonly steps: Int32Array
  /** Indexed by node: whether a string may end there. Its last byte is filled with fewer than eight ones. */
  readonly mayEnd: Uint8Array
}

const { steps, mayEnd } = buildTree()

function buildTree(): Tree {
  // The children of each node for bit 0 and bit 1. A leaf is stored as ~byte.
  const children = new Int32Array(NODES * 2)
  let count = 1
  let code = 0
  let length = 0
  const symbols = [...LENGTHS.keys()].sort((a, b) => bitsOf(a) - bitsOf(b) || a - b)
  for (const symbol of symbols) {
    code *= 2 ** (bitsOf(symbol) - length)
    length = bitsOf(symbol)
    let node = 0
    for (let bit = length - 1; bit > 0; bit--) {
      const at = node * 2 + ((code >>> bit) & 1)
      if (children[at] === 0) children[at] = count++
      node = children[at] as number
    }
    children[node * 2 + (code & 1)] = ~symbol
    code++
  }
  const steps = new Int32Array(NODES * STEPS)
  for (let node = 0; node < NODES; node++) {
    for (let bits = 0; bits < STEPS; bits++) steps[node * STEPS + bits] = walk(children, node, bits)
  }
  const mayEnd = new Uint8Array(NODES)
  for (let node = 0, ones = 0; ones < 8; ones++) {
    mayEnd[node] = 1
    node = children[node * 2 + 1] as number
  }
  return { steps, mayEnd }
}

function bitsOf(symbol: number): number {
  return LENGTHS[symbol] as number
}

function walk(children: Int32Array, from: number, bits: number): number {
  let node = from
  let found = 0
  for (let bit = STEP_BITS - 1; bit >= 0; bit--) {
    const child = children[node * 2 + ((bits >>> bit) & 1)] as number
    if (child >= 0) {
      node = child
      continue
    }
    if (~child === END_OF_TEXT) return FAILS
    found = HAS_BYTE | (~child << 8)
    node = 0
  }
  return found | node
}

/**
 * Decodes the bytes from `start` to `end` into `into`, which must have room for 8/5 of them. Returns the length of the string, or
 * -1 if the code is invalid.
 */
export function decodeHuffman(bytes: Uint8Array, start: number, end: number, into: Uint8Array): number {
  let node = 0
  let length = 0
  for (let at = start; at < end; at++) {
    const byte = bytes[at] as number
    for (let shift = STEP_BITS; shift >= 0; shift -= STEP_BITS) {
      const step = steps[node * STEPS + ((byte >>> shift) & (STEPS - 1))] as number
      if (step >= HAS_BYTE) {
        if (step >= FAILS) return -1
        into[length++] = (step >>> 8) & 0xff
      }
      node = step & 0xff
    }
  }
  return mayEnd[node] === 1 ? length : -1
}
