import { describe, expect, it } from "vitest"
import { type HashKey, KeyHash, randomHashKey } from "./key-hash.js"

/** Fixed keys: what holds for them today holds in every run. */
const keys: readonly HashKey[] = [
  [0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344],
  [0, 0, 0, 0],
  [0x7fffffff, -0x80000000, 0x55555555, -0x55555556],
  [1, 2, 3, 4],
]

/** The 53 highest bits of the 64, exact in a double. */
function hashOf(hash: KeyHash, text: string): number {
  hash.hash(text)
  return (hash.high >>> 0) * 2 ** 21 + (hash.low >>> 11)
}

function collisions(hashes: Float64Array): number {
  hashes.sort()
  let same = 0
  for (let i = 1; i < hashes.length; i++) if (hashes[i] === hashes[i - 1]) same++
  return same
}

function hashesOf(key: HashKey, texts: readonly string[]): Float64Array {
  const hash = new KeyHash(key)
  return Float64Array.from(texts, (text) => hashOf(hash, text))
}

describe("a hash", () => {
  it("is the same for the same text and key, independent of other calls", () => {
    const hash = new KeyHash(keys[0])
    const first = hashOf(hash, "user:42")
    hashOf(hash, "user:43")
    expect(hashOf(hash, "user:42")).toBe(first)
    expect(hashOf(new KeyHash(keys[0]), ["user", "42"].join(":"))).toBe(first)
  })

  it("is another one under another key", () => {
    const seen = new Set(keys.map((key) => hashOf(new KeyHash(key), "user:42")))
    for (let i = 0; i < 100; i++) seen.add(hashOf(new KeyHash(), "user:42"))
    expect(seen.size).toBe(keys.length + 100)
  })

  it("has another key in every store", () => {
    expect(new KeyHash().key).not.toEqual(new KeyHash().key)
    expect(randomHashKey().every((word) => Number.isInteger(word) && (word | 0) === word)).toBe(true)
  })

  it("is never zero in both words, which marks an empty slot", () => {
    const hash = new KeyHash(keys[1])
    for (const text of ["", "\0", "\0\0", "\0".repeat(1_000)]) {
      hash.hash(text)
      expect(hash.low | hash.high).not.toBe(0)
    }
  })
})

describe.each(keys.map((key) => ({ key })))("under key $key", ({ key }) => {
  it("a million ordinary keys share no hash and fill the table evenly", () => {
    const hash = new KeyHash(key)
    const hashes = new Float64Array(1_000_000)
    const slots = new Uint32Array(1_024)
    for (let i = 0; i < hashes.length; i++) {
      const text = i % 2 === 0 ? `user:${i}` : `10.${i & 255}.${(i >> 8) & 255}.${i >> 16}`
      hashes[i] = hashOf(hash, text)
      const slot = hash.high >>> 22
      slots[slot] = (slots[slot] as number) + 1
    }
    expect(collisions(hashes)).toBe(0)
    // Chi-square with 1,023 degrees of freedom: mean 1,023, deviation 45. Six deviations are never chance.
    const mean = hashes.length / slots.length
    const chiSquare = slots.reduce((sum, count) => sum + (count - mean) ** 2 / mean, 0)
    expect(chiSquare).toBeGreaterThan(1_023 - 6 * 45)
    expect(chiSquare).toBeLessThan(1_023 + 6 * 45)
  })

  it("one changed bit of the text changes every bit of the hash about every second time", () => {
    const hash = new KeyHash(key)
    const flips = new Float64Array(64)
    let tries = 0
    for (let n = 0; n < 200; n++) {
      const text = `client-${n}-${(n * 7_919).toString(36)}`
      hash.hash(text)
      const { low, high } = hash
      for (let at = 0; at < text.length; at++) {
        for (let bit = 0; bit < 7; bit++) {
          hash.hash(flipBit(text, at, bit))
          for (let i = 0; i < 32; i++) {
            flips[i] = (flips[i] as number) + (((hash.low ^ low) >>> i) & 1)
            flips[32 + i] = (flips[32 + i] as number) + (((hash.high ^ high) >>> i) & 1)
          }
          tries++
        }
      }
    }
    for (const flipped of flips) {
      expect(flipped / tries).toBeGreaterThan(0.45)
      expect(flipped / tries).toBeLessThan(0.55)
    }
  })

  it("Thue–Morse texts, which break every polynomial hash, do not collide", () => {
    const texts: string[] = []
    for (let power = 1; power <= 12; power++) {
      for (const [zero, one] of [
        ["a", "b"],
        ["0", "1"],
        ["\0", "\uffff"],
        ["ab", "ba"],
      ] as const) {
        texts.push(thueMorse(power, zero, one), thueMorse(power, one, zero))
      }
    }
    // Two of them are their own pair the other way round.
    expect(collisions(hashesOf(key, [...new Set(texts)]))).toBe(0)
    // The classic use: 2^12 texts of twelve blocks, each block one of a pair that a polynomial takes for the same.
    const blocks = [thueMorse(8, "a", "b"), thueMorse(8, "b", "a")] as const
    expect(collisions(hashesOf(key, choices(12, blocks[0], blocks[1])))).toBe(0)
  })

  it("texts that differ in the highest bits of their characters do not collide", () => {
    // A difference in the top bit survives any product; the second one is chosen to cancel it.
    const pairs = [
      ["aaaa", String.fromCharCode(97, 97 ^ 0x8000, 97, 97 ^ 0x8001)],
      ["aaaa", String.fromCharCode(97 ^ 0x8000, 97 ^ 0x8000, 97, 97)],
      ["aa", String.fromCharCode(97 ^ 0x8000, 97 ^ 1)],
      ["aa", String.fromCharCode(97 ^ 0x8000, 97 ^ 0x8000)],
      ["\u0000\u0000", "\u8000\u8000"],
    ] as const
    for (const [one, other] of pairs) expect(collisions(hashesOf(key, choices(14, one, other)))).toBe(0)
  })

  it("texts of nothing but zeros, of any length, do not collide", () => {
    const texts = Array.from({ length: 2_000 }, (_, length) => "\0".repeat(length))
    expect(collisions(hashesOf(key, texts))).toBe(0)
  })

  it("10,000 characters count down to the last one", () => {
    const text = "x".repeat(10_000)
    const texts = Array.from({ length: 200 }, (_, i) => flipBit(text, i * 50, i % 16))
    expect(
      collisions(hashesOf(key, [text, `${text}x`, text.slice(1), flipBit(text, 9_999, 0), ...texts])),
    ).toBe(0)
  })
})

function flipBit(text: string, at: number, bit: number): string {
  return text.slice(0, at) + String.fromCharCode(text.charCodeAt(at) ^ (1 << bit)) + text.slice(at + 1)
}

function thueMorse(power: number, zero: string, one: string): string {
  let [text, inverse] = [zero, one]
  for (let i = 0; i < power; i++) [text, inverse] = [text + inverse, inverse + text]
  return text
}

/** All 2^blocks texts that have one or the other in each place. */
function choices(blocks: number, one: string, other: string): string[] {
  return Array.from({ length: 2 ** blocks }, (_, bits) =>
    Array.from({ length: blocks }, (_, place) => ((bits >> place) & 1 ? other : one)).join(""),
  )
}
