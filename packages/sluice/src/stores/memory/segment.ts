// One open-addressing hash table: each slot is the 64-bit hash followed by its cells, so that a look-up touches one cache
// line, and the garbage collector has nothing to walk. Slots lie in chunks of up to 1 MiB that are made when first written:
// no check waits for a large allocation, and a segment that is being emptied gives its chunks back on the way.

import { gcd } from "../../algorithms/exact.js"

const TO_UNIT = 2 ** -32
/** Slots that a sweep looks at in a row. Capacities are multiples of it. */
const BLOCK = 16
const CHUNK_DOUBLES = 2 ** 17

export class Segment {
  readonly capacity: number
  /** Doubles per slot, the hash included. */
  readonly stride: number
  bytes = 0
  readonly #shift: number
  readonly #mask: number
  readonly #chunks: (Float64Array | undefined)[] = []
  readonly #words: (Int32Array | undefined)[] = []
  readonly #blocks: number
  #blockStride: number

  constructor(capacity: number, slotCells: number) {
    this.#blocks = Math.ceil(capacity / BLOCK)
    this.capacity = this.#blocks * BLOCK
    this.#blockStride = Math.floor(this.#blocks * 0.618) | 1
    while (gcd(this.#blockStride, this.#blocks) !== 1) this.#blockStride++
    this.stride = slotCells + 1
    this.#shift = Math.floor(Math.log2(CHUNK_DOUBLES / this.stride))
    this.#mask = 2 ** this.#shift - 1
    for (let slot = 0; slot < this.capacity; slot += 2 ** this.#shift) {
      this.#chunks.push(undefined)
      this.#words.push(undefined)
    }
  }

  /** The array a slot's cells are in. */
  cells(slot: number): Float64Array {
    return this.#chunks[slot >> this.#shift] as Float64Array
  }

  /** The same array as words. */
  words(slot: number): Int32Array {
    return this.#words[slot >> this.#shift] as Int32Array
  }

  /** Where in it they start. */
  at(slot: number): number {
    return (slot & this.#mask) * this.stride + 1
  }

  /** The slot of a hash, or -1. Slots below `floor` are no longer this segment's: they were moved to a larger one. */
  find(low: number, high: number, floor: number): number {
    const { capacity } = this
    const shift = this.#shift
    const mask = this.#mask
    const wordStride = this.stride * 2
    let slot = this.#home(high)
    // An entry pushed beyond the floor by others is in the run that reaches over it.
    if (slot < floor) slot = floor
    for (;;) {
      const words = this.#words[slot >> shift]
      if (words === undefined) return -1
      const word = (slot & mask) * wordStride
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
    const words = this.#words[slot >> this.#shift] ?? this.#addChunk(slot >> this.#shift)
    const word = (slot & this.#mask) * this.stride * 2
    words[word] = low
    words[word + 1] = high
    return slot
  }

  isEmpty(slot: number): boolean {
    const words = this.#words[slot >> this.#shift]
    if (words === undefined) return true
    const word = (slot & this.#mask) * this.stride * 2
    return ((words[word] as number) | (words[word + 1] as number)) === 0
  }

  low(slot: number): number {
    return (this.#words[slot >> this.#shift] as Int32Array)[(slot & this.#mask) * this.stride * 2] as number
  }

  high(slot: number): number {
    return (this.#words[slot >> this.#shift] as Int32Array)[
      (slot & this.#mask) * this.stride * 2 + 1
    ] as number
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
    const words = this.#words[hole >> this.#shift] as Int32Array
    const word = (hole & this.#mask) * this.stride * 2
    for (let i = 0; i < this.stride * 2; i++) words[word + i] = 0
  }

  /** Word by word: a hash read as a double might come back as another NaN. */
  #copy(from: number, to: number): void {
    const wordStride = this.stride * 2
    const source = this.#words[from >> this.#shift] as Int32Array
    const target = this.#words[to >> this.#shift] as Int32Array
    const sourceWord = (from & this.#mask) * wordStride
    const targetWord = (to & this.#mask) * wordStride
    for (let i = 0; i < wordStride; i++) target[targetWord + i] = source[sourceWord + i] as number
  }

  /** Gives back the chunks that lie wholly below a slot. */
  release(below: number): void {
    const chunk = (below >> this.#shift) - 1
    const cells = this.#chunks[chunk]
    if (cells === undefined) return
    this.bytes -= cells.byteLength
    this.#chunks[chunk] = undefined
    this.#words[chunk] = undefined
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

  #addChunk(chunk: number): Int32Array {
    const slots = Math.min(2 ** this.#shift, this.capacity - chunk * 2 ** this.#shift)
    const cells = new Float64Array(slots * this.stride)
    const words = new Int32Array(cells.buffer)
    this.#chunks[chunk] = cells
    this.#words[chunk] = words
    this.bytes += cells.byteLength
    return words
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
