// A 64-bit keyed hash of a storage key, in two 32-bit lanes. The key is secret and new for every process: who does not
// know it cannot find two names that share a counter. The second lane is fed from the first, and both multipliers are
// secret, so that a difference that cancels in one lane has already gone through an unknown product in the other.
// Not cryptographic; about 2 ns per character, most of it reading the string.

export type HashKey = readonly [number, number, number, number]

export function randomHashKey(): HashKey {
  const words = new Int32Array(4)
  globalThis.crypto.getRandomValues(words)
  return [words[0] as number, words[1] as number, words[2] as number, words[3] as number]
}

export class KeyHash {
  readonly key: HashKey
  /** The hash of the last key, two signed words. Never both zero: that marks an empty slot. */
  low = 0
  high = 0
  /** The text hashed last. */
  text: string
  /** Where both lanes start, and their multipliers. As secret as the key. */
  readonly a: number
  readonly b: number
  readonly m: number
  readonly n: number

  constructor(key: HashKey = randomHashKey()) {
    this.key = key
    this.a = key[0]
    this.b = key[1]
    // Odd multipliers lose no information; a few bits set high and low keep them from being weak.
    this.m = key[2] | 0x40000201
    this.n = key[3] | 0x20000401
    this.text = "?"
    this.hash("")
  }

  /** Leaves the hash in `low` and `high`. Ask only if `text` is another: for several limits on one key it is there. */
  hash(text: string): void {
    this.text = text
    const m = this.m
    const n = this.n
    const length = text.length
    let a = this.a ^ length
    // Told to be 32 bits like `a`: else the engine adds them as doubles, which takes twice as long as all the rest.
    let b = this.b | 0
    for (let i = 0; i < length; i++) {
      a = Math.imul(a ^ text.charCodeAt(i), m)
      a ^= a >>> 15
      b = Math.imul(b + a, n)
      b ^= b >>> 17
    }
    a = Math.imul(a ^ b, 0x85ebca6b)
    a ^= a >>> 13
    b = Math.imul(b + a, 0xc2b2ae35)
    b ^= b >>> 16
    this.high = b
    this.low = (a | b) === 0 ? 1 : a
  }
}
