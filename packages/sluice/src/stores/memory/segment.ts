// One open-addressing hash table over a single buffer: each slot is the 64-bit hash followed by its cells, so that a
// look-up touches one cache line, and the garbage collector has nothing to walk.

const TO_UNIT = 2 ** -32

export class Segment {
  readonly capacity: number
  /** Doubles per slot, the hash included. */
  readonly stride: number
  readonly cells: Float64Array
  readonly #words: Int32Array
  readonly #wordStride: number

  constructor(capacity: number, slotCells: number) {
    this.capacity = capacity
    this.stride = slotCells + 1
    this.#wordStride = this.stride * 2
    this.cells = new Float64Array(capacity * this.stride)
    this.#words = new Int32Array(this.cells.buffer)
  }

  get bytes(): number {
    return this.cells.byteLength
  }

  /** The slot of a hash, or -1. */
  find(low: number, high: number): number {
    const words = this.#words
    const stride = this.#wordStride
    const capacity = this.capacity
    let slot = this.#home(high)
    for (;;) {
      const word = slot * stride
      const slotLow = words[word] as number
      const slotHigh = words[word + 1] as number
      if (slotLow === low && slotHigh === high) return slot
      if ((slotLow | slotHigh) === 0) return -1
      if (++slot === capacity) slot = 0
    }
  }

  /** Takes the first empty slot for a hash that is not here, its cells all zero. */
  take(low: number, high: number): number {
    const words = this.#words
    const stride = this.#wordStride
    let slot = this.#home(high)
    while (((words[slot * stride] as number) | (words[slot * stride + 1] as number)) !== 0) {
      if (++slot === this.capacity) slot = 0
    }
    words[slot * stride] = low
    words[slot * stride + 1] = high
    return slot
  }

  isEmpty(slot: number): boolean {
    const word = slot * this.#wordStride
    return ((this.#words[word] as number) | (this.#words[word + 1] as number)) === 0
  }

  low(slot: number): number {
    return this.#words[slot * this.#wordStride] as number
  }

  high(slot: number): number {
    return this.#words[slot * this.#wordStride + 1] as number
  }

  /**
   * Empties a slot and moves later entries of its run up, so that no tombstones gather. Slots below `floor` are no longer
   * this segment's (they were moved to a larger one) and end a run that wraps around.
   */
  erase(slot: number, floor: number): void {
    const { capacity, cells, stride } = this
    let hole = slot
    let next = slot
    for (;;) {
      if (++next === capacity) next = 0
      if (next < floor || this.isEmpty(next)) break
      const fromHome = distance(this.#home(this.high(next)), next, capacity)
      if (fromHome >= distance(hole, next, capacity)) {
        cells.copyWithin(hole * stride, next * stride, (next + 1) * stride)
        hole = next
      }
    }
    cells.fill(0, hole * stride, (hole + 1) * stride)
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
