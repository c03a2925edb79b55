// A world with a clock that only moves from one event to the next, in whole microseconds, and with dice that a seed decides.

/** Numbers that look random and that a seed decides. */
export class Dice {
  #state: number

  constructor(seed: number) {
    this.#state = seed >>> 0
  }

  /** From 0 to below 1 (mulberry32). */
  fraction(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0
    let t = this.#state
    t = Math.imul(t ^ (t >>> 15), t | 1)
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
  }

  /** A whole number from `low` to `high`. */
  between(low: number, high: number): number {
    return low + Math.floor(this.fraction() * (high - low + 1))
  }

  chance(probability: number): boolean {
    return this.fraction() < probability
  }

  pick<T>(list: readonly T[]): T {
    return list[this.between(0, list.length - 1)] as T
  }
}

interface Event {
  readonly at: number
  /** Events at one time run in the order in which they were planned. */
  readonly order: number
  readonly run: () => void
}

/** Enough turns of the promise queue for everything that an event sets off. */
const TURNS = 10

export class World {
  now: number
  readonly #heap: Event[] = []
  #planned = 0

  constructor(start: number) {
    this.now = start
  }

  plan(at: number, run: () => void): void {
    const heap = this.#heap
    const event = { at: Math.max(Math.round(at), this.now), order: this.#planned++, run }
    let place = heap.push(event) - 1
    while (place > 0) {
      const parent = (place - 1) >> 1
      if (!isBefore(event, heap[parent] as Event)) break
      heap[place] = heap[parent] as Event
      place = parent
    }
    heap[place] = event
  }

  /** Runs all events up to a time. */
  async runUntil(end: number): Promise<void> {
    for (let next = this.#heap[0]; next !== undefined && next.at <= end; next = this.#heap[0]) {
      this.#removeFirst()
      this.now = next.at
      next.run()
      for (let turn = 0; turn < TURNS; turn++) await undefined
    }
    this.now = end
  }

  #removeFirst(): void {
    const heap = this.#heap
    const last = heap.pop() as Event
    if (heap.length === 0) return
    let place = 0
    for (;;) {
      let child = place * 2 + 1
      if (child >= heap.length) break
      if (child + 1 < heap.length && isBefore(heap[child + 1] as Event, heap[child] as Event)) child++
      if (!isBefore(heap[child] as Event, last)) break
      heap[place] = heap[child] as Event
      place = child
    }
    heap[place] = last
  }
}

function isBefore(a: Event, b: Event): boolean {
  return a.at < b.at || (a.at === b.at && a.order < b.order)
}
