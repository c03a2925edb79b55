// A keyed hash of text that can be taken further, character by character, from either end: the beginnings of a text, of
// whatever lengths, cost one walk along it, and so do its ends. The key is new for every process, so that nobody can write
// rules that share a hash. It only says where to look: what is found there is compared, so a hash decides nothing.

import { randomHashKey } from "../../stores/memory/key-hash.js"

const [start, secret] = randomHashKey()

/** The hash of no characters. */
export const HASH_START = start

/** Odd, which loses nothing, and with a few bits set high and low, which keeps it from being weak. */
const MULTIPLIER = secret | 0x40000201

/** Goes on with a hash over the characters from `from` up to `to`. */
export function hashForward(hash: number, text: string, from: number, to: number): number {
  let next = hash
  for (let i = from; i < to; i++) next = hashFurther(next, text.charCodeAt(i))
  return next
}

/** The same from the end: over those before `from`, down to `to`. */
export function hashBackward(hash: number, text: string, from: number, to: number): number {
  let next = hash
  for (let i = from - 1; i >= to; i--) next = hashFurther(next, text.charCodeAt(i))
  return next
}

/** Goes on with a hash by one character, or any other number. */
export function hashFurther(hash: number, code: number): number {
  const product = Math.imul(hash ^ code, MULTIPLIER)
  return product ^ (product >>> 15)
}

export function hashFromStart(text: string): number {
  return hashForward(HASH_START, text, 0, text.length)
}

export function hashFromEnd(text: string): number {
  return hashBackward(HASH_START, text, text.length, 0)
}
