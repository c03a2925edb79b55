// A 64-bit keyed hash of a key, in two 32-bit lanes. The hash key is secret and new for every process, so that an attacker
// cannot find two names that share a counter. The second lane takes the first as its input, and both multipliers are secret:
// a difference that cancels out in one lane has gone through an unknown product in the other. The hash is not cryptographic. It
// takes about 2 ns per character.

export type HashKey = readonly [number, number, number, number]

export function randomHashKey(): HashKey {
  const words = new Int32Array(4)
  globalThis.crypto.getRandomValues(words)
  return [words[0] as number, words[1] as number, words[2] as number, words[3] as number]
}

export class KeyHash {
  /** The last hash, as two signed words. Never both zero, because that marks an empty slot. */
  low = 0
  high = 0
  /** The text that was hashed last, or undefined if it was bytes. A caller need not hash the same text again. */
  text: string | undefined
  /** The start of both lanes, and their multipliers. */
  #a = 0
  #b = 0
  /** 0 until there is a key. */
  #m = 0
  #n = 0
  #key: HashKey | undefined

  /** Without a key, a random one is drawn for the first hash: Workers have no random values while a module loads. */
  constructor(key?: HashKey) {
    if (key !== undefined) this.#use(key)
  }

  get key(): HashKey {
    return this.#key ?? this.#use(randomHashKey())
  }

  #use(key: HashKey): HashKey {
    this.#key = key
    this.#a = key[0]
    this.#b = key[1]
    // An odd multiplier loses no information. The fixed bits rule out weak ones.
    this.#m = key[2] | 0x40000201
    this.#n = key[3] | 0x20000401
    return key
  }

  /** Hashes a text into `low` and `high`. */
  hash(text: string): void {
    if (this.#m === 0) this.#use(randomHashKey())
    this.text = text
    const m = this.#m
    const n = this.#n
    const length = text.length
    let a = this.#a ^ length
    let b = this.#b | 0
    for (let i = 0; i < length; i++) {
      a = Math.imul(a ^ text.charCodeAt(i), m)
      a ^= a >>> 15
      b = Math.imul(b + a, n)
      b ^= b >>> 17
    }
    this.#finish(a, b)
  }

  /**
   * Hashes ASCII text that a socket delivered as bytes, to the same hash as `hash` of that text. Creating a string would take
   * longer than the check. Returns false, without a hash, if a byte is not ASCII.
   */
  hashBytes(bytes: Uint8Array, start: number, end: number): boolean {
    if (this.#m === 0) this.#use(randomHashKey())
    const m = this.#m
    const n = this.#n
    let a = this.#a ^ (end - start)
    let b = this.#b | 0
    let seen = 0
    for (let i = start; i < end; i++) {
      const byte = bytes[i] as number
      seen |= byte
      a = Math.imul(a ^ byte, m)
      a ^= a >>> 15
      b = Math.imul(b + a, n)
      b ^= b >>> 17
    }
    if (seen > 0x7f) return false
    this.text = undefined
    this.#finish(a, b)
    return true
  }

  #finish(first: number, second: number): void {
    let a = Math.imul(first ^ second, 0x85ebca6b)
    a ^= a >>> 13
    let b = Math.imul(second + a, 0xc2b2ae35)
    b ^= b >>> 16
    this.high = b
    this.low = (a | b) === 0 ? 1 : a
  }
}
