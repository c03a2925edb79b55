// One open-addressing hash table over a single buffer: each slot is the 64-bit hash followed by its cells, so that a
// look-up touches one cache line, and the garbage collector has nothing to walk. The system hands out such a buffer without
// touching it, so that making a large one takes no longer than a small one.

import { gcd } from "../../algorithms/exact.js"

const TO_UNIT = 2 ** -32
/** Slots that a sweep looks at in a row. Capacities are multiples of it. */
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

  /** Where in `cells` those of a slot start. */
  at(slot: number): number {
    return slot * this.stride + 1
  }

  /** The slot of a hash, or -1. Slots below `floor` are no longer this segment's: they were moved to a larger one. */
  find(low: number, high: number, floor: number): number {
    const { capacity, words } = this
    const wordStride = this.stride * 2
    let slot = this.#home(high)
    // An entry pushed beyond the floor by others is in the run that reaches over it.
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

  /** Takes the first empty slot for a hash that is not here, its cells all zero. */
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

  /** Empties a slot and moves later entries of its run up, so that no tombstones gather. */
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

  /** Word by word: a hash read as a double might come back as another NaN. */
  #copy(from: number, to: number): void {
    const { words } = this
    const wordStride = this.stride * 2
    for (let i = 0; i < wordStride; i++) words[to * wordStride + i] = words[from * wordStride + i] as number
  }

  /**
   * The slot a sweep looks at in its step `step`, of `capacity` in a round. A sweep that went front to back would leave
   * the slots behind it empty and those before it overfull, and runs there would grow very long; leaping from block to
   * block by the golden section thins the table out evenly.
   */
  slotOfStep(step: number): number {
    const block = Math.floor(step / BLOCK)
    return ((block * this.#blockStride) % this.#blocks) * BLOCK + (step % BLOCK)
  }

  /**
   * The slot a hash would like. Scaling instead of masking allows any capacity, and keeps the order of hashes: moving to a
   * larger segment reads and writes memory front to back.
   */
  #home(high: number): number {
    return ((high >>> 0) * TO_UNIT * this.capacity) | 0
  }
}

function distance(from: number, to: number, capacity: number): number {
  return to >= from ? to - from : to - from + capacity
}
