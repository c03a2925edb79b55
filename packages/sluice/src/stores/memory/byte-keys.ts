// Keys as bytes, for servers that read them from a socket: the same counters as for the same text, without making a string
// of it. A string costs more to make than the check itself.

import type { Policy } from "../../algorithms/algorithm.js"
import type { Namespace, SingleVerdict, Store } from "../store.js"
import type { KeyHash } from "./key-hash.js"
import type { MemoryStore } from "./memory-store.js"

/** Checks by bytes on this store, or undefined where only strings do. */
export function byteKeys(store: Store): ByteKeys | undefined {
  return "keyHash" in store ? new ByteKeys(store as MemoryStore) : undefined
}

export class ByteKeys {
  readonly #store: MemoryStore
  readonly #hash: KeyHash
  readonly #a: number
  readonly #b: number
  readonly #m: number
  readonly #n: number

  constructor(store: MemoryStore) {
    this.#store = store
    this.#hash = store.keyHash
    const { a, b, m, n } = this.#hash
    this.#a = a
    this.#b = b
    this.#m = m
    this.#n = n
  }

  /**
   * `checkOneSync` of the key in `bytes` from `start` to `end`. Undefined, and nothing decided, when it is not all ASCII:
   * then bytes are not the characters, and it takes a string after all.
   */
  checkOneSync(
    namespace: Namespace,
    bytes: Uint8Array,
    start: number,
    end: number,
    policy: Policy,
    cost: number,
    at?: number,
  ): SingleVerdict | undefined {
    const m = this.#m
    const n = this.#n
    let a = this.#a ^ (end - start)
    let b = this.#b | 0
    let seen = 0
    // KeyHash.hash, on bytes; a test holds the two together.
    for (let i = start; i < end; i++) {
      const byte = bytes[i] as number
      seen |= byte
      a = Math.imul(a ^ byte, m)
      a ^= a >>> 15
      b = Math.imul(b + a, n)
      b ^= b >>> 17
    }
    if (seen > 0x7f) return undefined
    a = Math.imul(a ^ b, 0x85ebca6b)
    a ^= a >>> 13
    b = Math.imul(b + a, 0xc2b2ae35)
    b ^= b >>> 16
    const hash = this.#hash
    const { low, high } = hash
    hash.high = b
    hash.low = (a | b) === 0 ? 1 : a
    // Under the text hashed last the store takes the hash as it finds it. It gets its own back.
    const verdict = this.#store.checkOneSync(namespace, hash.text, policy, cost, at)
    hash.low = low
    hash.high = high
    return verdict
  }
}
