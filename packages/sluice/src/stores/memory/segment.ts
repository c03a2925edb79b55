// An open-addressing hash table in a single buffer. A slot is the 64-bit hash followed by its cells, so a lookup touches one
// cache line, and the garbage collector has nothing to traverse. The system provides large zeroed buffers lazily, so creating one
// takes no longer than creating a small one.

import { gcd } from "../../algorithms/exact.js"

const TO_UNIT = 2 ** -32
/** Adjacent slots that a sweep examines. Capacities are multiples of it. */
const BLOCK = 16

export class Segment {
  readonly capacity: number
  /** Doubles per slot, the hash included. */
  readonly stride: number
  readonly cells: Float64Array
  readonly words: Int32Array
  readonly #blocks: number
  #blockStride: number

  constructor(capacity: number, slotCells: number) {
    this.#blocks = Math.ceil(capacity / BLOCK)
    this.capacity = this.#blocks * BLOCK
    this.#blockStride = Math.floor(this.#blocks * 0.618) | 1
    while (gcd(this.#blockStride, this.#blocks) !== 1) this.#blockStride++
    this.stride = slotCells + 1
    this.cells = new Float64Array(this.capacity * this.stride)
    this.words = new Int32Array(this.cells.buffer)
  }

  get bytes(): number {
    return this.cells.byteLength
  }

  /** The index in `cells` at which the state of a slot starts. */
  at(slot: number): number {
    return slot * this.stride + 1
  }

  /** The slot of a hash, or -1. Slots below `floor` have been moved to another segment. */
  find(low: number, high: number, floor: number): number {
    const { capacity, words } = this
    const wordStride = this.stride * 2
    let slot = this.#home(high)
    // An entry whose home is below the floor may be in the run that starts there.
    if (slot < floor) slot = floor
    for (;;) {
      const word = slot * wordStride
      const slotLow = words[word] as number
      const slotHigh = words[word + 1] as number
      if (slotLow === low && slotHigh === high) return slot
      if ((slotLow | slotHigh) === 0) return -1
      if (++slot === capacity) slot = 0
      if (slot < floor) return -1
    }
  }

  /** Puts a hash that the segment does not have into the first empty slot. Its cells are zero. */
  take(low: number, high: number): number {
    let slot = this.#home(high)
    while (!this.isEmpty(slot)) if (++slot === this.capacity) slot = 0
    const word = slot * this.stride * 2
    this.words[word] = low
    this.words[word + 1] = high
    return slot
  }

  isEmpty(slot: number): boolean {
    const word = slot * this.stride * 2
    return ((this.words[word] as number) | (this.words[word + 1] as number)) === 0
  }

  low(slot: number): number {
    return this.words[slot * this.stride * 2] as number
  }

  high(slot: number): number {
    return this.words[slot * this.stride * 2 + 1] as number
  }

  /** Empties a slot and moves later entries of its run up, so that no tombstones are needed. */
  erase(slot: number, floor: number): void {
    const { capacity } = this
    let hole = slot
    let next = slot
    for (;;) {
      if (++next === capacity) next = 0
      if (next < floor || this.isEmpty(next)) break
      const fromHome = distance(this.#home(this.high(next)), next, capacity)
      if (fromHome >= distance(hole, next, capacity)) {
        this.#copy(next, hole)
        hole = next
      }
    }
    const wordStride = this.stride * 2
    this.words.fill(0, hole * wordStride, (hole + 1) * wordStride)
  }

  /** Copies words, because a hash that is read as a double could be written as another NaN. */
  #copy(from: number, to: number): void {
    const { words } = this
    const wordStride = this.stride * 2
    for (let i = 0; i < wordStride; i++) words[to * wordStride + i] = words[from * wordStride + i] as number
  }

  /**
   * The slot that a sweep examines in its step `step`, of `capacity` in a round. A sweep from front to back would empty the slots
   * behind it while new keys make long runs before it. Jumping from block to block by the golden ratio thins the table out evenly.
   */
  slotOfStep(step: number): number {
    const block = Math.floor(step / BLOCK)
    return ((block * this.#blockStride) % this.#blocks) * BLOCK + (step % BLOCK)
  }

  /**
   * The first slot to try for a hash. Scaling instead of masking allows any capacity and keeps the order of hashes, so that a move
   * to a larger segment reads and writes memory from front to back.
   */
  #home(high: number): number {
    return ((high >>> 0) * TO_UNIT * this.capacity) | 0
  }
}

function distance(from: number, to: number, capacity: number): number {
  return to >= from ? to - from : to - from + capacity
}
