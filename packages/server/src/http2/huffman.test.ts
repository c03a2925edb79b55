import { describe, expect, it } from "vitest"
import { decodeHuffman } from "./huffman.js"

/** Codes as RFC 7541, appendix B, prints them: from the shortest to the longest, at the ends of each length. */
const CODES: readonly [number, string][] = [
  [0x30, "00000"],
  [0x74, "01001"],
  [0x20, "010100"],
  [0x75, "101101"],
  [0x3a, "1011100"],
  [0x7a, "1111011"],
  [0x26, "11111000"],
  [0x5a, "11111101"],
  [0x21, "1111111000"],
  [0x7c, "11111111100"],
  [0x23, "111111111010"],
  [0x7e, "1111111111101"],
  [0x5e, "11111111111100"],
  [0x60, "111111111111101"],
  [0x5c, "1111111111111110000"],
  [0x80, "11111111111111100110"],
  [0x01, "11111111111111111011000"],
  [0xff, "11111111111111111111101110"],
  [0x02, "1111111111111111111111100010"],
  [0xf9, "1111111111111111111111111110"],
  [0x0a, "111111111111111111111111111100"],
  [0x16, "111111111111111111111111111110"],
]

function decoded(bits: string): Buffer | undefined {
  const padded = bits.padEnd(Math.ceil(bits.length / 8) * 8, "1")
  const bytes = Buffer.from((padded.match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2)))
  const into = Buffer.alloc(Math.ceil((bytes.length * 8) / 5))
  const length = decodeHuffman(bytes, 0, bytes.length, into)
  return length < 0 ? undefined : into.subarray(0, length)
}

describe("the Huffman code", () => {
  it.each(CODES)("has %i as %s", (byte, bits) => {
    expect(decoded(bits)).toEqual(Buffer.of(byte))
  })

  it("decodes symbols one after the other, wherever each of them ends", () => {
    const bits = CODES.map(([, code]) => code)
    const bytes = CODES.map(([byte]) => byte)
    for (let i = 0; i < CODES.length; i++) {
      const turned = [...bits.slice(i), ...bits.slice(0, i)].join("")
      expect(decoded(turned)).toEqual(Buffer.from([...bytes.slice(i), ...bytes.slice(0, i)]))
    }
  })

  it("refuses an incomplete code, except for padding of fewer than eight ones", () => {
    expect(decoded("00000")).toEqual(Buffer.of(0x30))
    expect(decoded("00000000")).toBeUndefined()
    expect(decoded("0000011111111111")).toBeUndefined()
    expect(decoded("11111111")).toBeUndefined()
  })
})
