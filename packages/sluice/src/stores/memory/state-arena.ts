// The memory of states that grow: blocks with room for 2, 4, 8 … entries, cut from slabs of one size class. A state that grows
// moves to the next class, and its old block is reused by the next state of that size.

import type { GrowingState } from "../../algorithms/algorithm.js"

const CLASSES = 32
/** Doubles in a slab of small blocks: 64 KB. A larger block has its own slab. */
const SLAB = 8192

interface SizeClass {
  readonly cells: number
  readonly perSlab: number
  readonly slabs: Float64Array[]
  readonly free: number[]
  used: number
}

export class StateArena {
  readonly #state: GrowingState
  readonly #classes: SizeClass[] = []
  bytes = 0
  /** The place of the block that was located last. */
  cells: Float64Array = new Float64Array(0)
  at = 0

  constructor(state: GrowingState) {
    this.#state = state
  }

  /** Allocates a block with room for 2^sizeClass entries and returns its reference, which is never 0. */
  take(sizeClass: number): number {
    const size = this.#classOf(sizeClass)
    let index = size.free.pop()
    if (index === undefined) {
      index = size.used++
      if (index >= size.slabs.length * size.perSlab) {
        const slab = new Float64Array(size.cells * size.perSlab)
        size.slabs.push(slab)
        this.bytes += slab.byteLength
      }
    }
    const reference = (index + 1) * CLASSES + sizeClass
    this.locate(reference)
    this.#state.init(this.cells, this.at, 2 ** sizeClass)
    return reference
  }

  /** Frees a block. */
  give(reference: number): void {
    const size = this.#classOf(reference % CLASSES)
    size.free.push(Math.floor(reference / CLASSES) - 1)
    if (size.free.length === size.used) {
      // No block of this size is in use, so the slabs are freed.
      for (const slab of size.slabs) this.bytes -= slab.byteLength
      size.slabs.length = 0
      size.free.length = 0
      size.used = 0
    }
  }

  /** Moves a state into a block of twice the size and returns the new reference. */
  grow(reference: number): number {
    this.locate(reference)
    const { cells, at } = this
    const sizeClass = (reference % CLASSES) + 1
    const larger = this.take(sizeClass)
    this.#state.init(this.cells, this.at, 2 ** sizeClass, cells, at)
    this.give(reference)
    return larger
  }

  /** Points `cells` and `at` to a block. */
  locate(reference: number): void {
    const { cells, perSlab, slabs } = this.#classOf(reference % CLASSES)
    const index = Math.floor(reference / CLASSES) - 1
    this.cells = slabs[Math.floor(index / perSlab)] as Float64Array
    this.at = (index % perSlab) * cells
  }

  #classOf(sizeClass: number): SizeClass {
    let size = this.#classes[sizeClass]
    if (size === undefined) {
      const cells = this.#state.cells(2 ** sizeClass)
      size = { cells, perSlab: Math.max(1, Math.floor(SLAB / cells)), slabs: [], free: [], used: 0 }
      this.#classes[sizeClass] = size
    }
    return size
  }
}
