// The counters of one space. Grows in small steps: while a larger segment fills, the old one is emptied a few slots per
// check, so that no single check pays for the growth.

import type { Algorithm, Policy, Verdict } from "../../algorithms/algorithm.js"
import { blockPolicy } from "../../algorithms/block.js"
import { initLog, logCells, logIsFull, pruneLog } from "../../algorithms/sliding-window-log.js"
import { compactCounter, isCompact, widen } from "./compact-counter.js"
import { LogArena } from "./log-arena.js"
import { Segment } from "./segment.js"

const FIRST_CAPACITY = 16
/** Share of slots that may be taken. Above it, runs of linear probing get long. */
const MAX_LOAD = 0.85
/** Small tables double; large ones grow by a quarter, which keeps a key at 32 bytes ÷ 0.68 at the worst. */
const DOUBLE_BELOW = 65_536
/** Slots moved per check while growing. A quarter more slots needs at least 5 per insert to be done in time. */
const MOVED_PER_CHECK = 16

/** Who keeps count over all tables. */
export interface TableOwner {
  keys: number
  blocks: number
  slots: number
}

export class Table {
  owner: TableOwner
  /** The policy in use here. */
  policy: Policy
  /** Where the state found or inserted last is. */
  cells: Float64Array
  at = 0
  count = 0
  /** Where the sweep for expired and idle keys is. */
  hand = 0

  /** The arithmetic for the states as they are kept here. */
  #algorithm: Algorithm
  /** Cells per slot: the state itself, or one reference into the arena of logs. */
  #slotCells: number
  readonly #arena: LogArena | undefined
  #segment: Segment
  /** The segment being emptied, and how far. Slots below the frontier have moved. */
  #old: Segment | undefined
  #frontier = 0
  #found: Segment
  #slot = -1
  /** The policies met here that forget the slowest and hold the least: what may be dropped must be idle for all. */
  #slowest: Policy
  #leastCapacity: number

  constructor(owner: TableOwner, policy: Policy) {
    this.owner = owner
    this.policy = policy
    this.#slowest = policy
    this.#leastCapacity = policy.capacity
    this.#algorithm = isCompact(policy) ? compactCounter : policy.algorithm
    this.#arena = policy.algorithm.name === "sliding-window-log" ? new LogArena() : undefined
    this.#slotCells = this.#arena === undefined ? this.#algorithm.cells(policy) : 1
    this.#segment = new Segment(FIRST_CAPACITY, this.#slotCells)
    owner.slots += FIRST_CAPACITY
    this.#found = this.#segment
    this.cells = this.#segment.cells
  }

  get slots(): number {
    return this.#segment.capacity
  }

  get bytes(): number {
    return this.#segment.bytes + (this.#old?.bytes ?? 0) + (this.#arena?.bytes ?? 0)
  }

  /** Remembers the policy in use, so that sweeping never forgets a key that any of them still counts. */
  meet(policy: Policy): void {
    this.policy = policy
    if (policy.capacity < this.#leastCapacity) this.#leastCapacity = policy.capacity
    const slowest = this.#slowest
    const slower =
      policy.token > 0
        ? policy.limit * slowest.window < slowest.limit * policy.window
        : policy.window > slowest.window
    if (slower) this.#slowest = policy
    if (this.#algorithm === compactCounter && !isCompact(policy)) this.#widen(policy)
  }

  /** Points `cells` and `at` to the state of a hash. False when there is none. */
  find(low: number, high: number): boolean {
    const old = this.#old
    if (old !== undefined) {
      this.#move(MOVED_PER_CHECK)
      const slot = old.find(low, high)
      if (slot >= this.#frontier) {
        this.#point(old, slot)
        return true
      }
    }
    const slot = this.#segment.find(low, high)
    if (slot < 0) return false
    this.#point(this.#segment, slot)
    return true
  }

  /** Adds a hash that `find` did not find, with a state never used. */
  insert(low: number, high: number, now: number, mostKeys: number): void {
    // Each new key looks at two old ones: a table that is in use tidies itself.
    this.sweep(this.#old === undefined ? 2 : MOVED_PER_CHECK, now)
    if (this.count + 1 > this.#segment.capacity * MAX_LOAD) this.#resize(this.#larger(mostKeys))
    const segment = this.#segment
    const slot = segment.take(low, high)
    if (this.#arena !== undefined) segment.cells[slot * segment.stride + 1] = this.#arena.take(1)
    this.#counted(1)
    this.#point(segment, slot)
  }

  /** Decides on the state found. */
  decide(policy: Policy, cost: number, now: number, verdict: Verdict): void {
    this.#algorithm.decide(policy, this.cells, this.at, cost, now, verdict)
  }

  /** Decides on the state found, and charges it if allowed. */
  check(policy: Policy, cost: number, now: number, verdict: Verdict): void {
    if (this.#arena === undefined) {
      this.#algorithm.check(policy, this.cells, this.at, cost, now, verdict)
      return
    }
    this.#algorithm.decide(policy, this.cells, this.at, cost, now, verdict)
    if (cost > 0 && (verdict.allowed || verdict.foreign)) this.charge(policy, verdict.allowed ? cost : 0, now)
  }

  /** Charges the state found. */
  charge(policy: Policy, cost: number, now: number): void {
    if (this.#arena !== undefined) this.#makeRoom(policy, now)
    this.#algorithm.charge(policy, this.cells, this.at, cost, now)
  }

  refund(policy: Policy, cost: number, now: number): void {
    // A key with nothing charged stays as it is, expired or not.
    if (this.#algorithm.used(policy, this.cells, this.at, now) === 0) return
    this.#algorithm.refund(policy, this.cells, this.at, cost, now)
  }

  /** Before a charge: a sliding log may need room for one more entry. */
  #makeRoom(policy: Policy, now: number): void {
    if (!logIsFull(this.cells, this.at)) return
    pruneLog(policy, this.cells, this.at, now)
    if (logIsFull(this.cells, this.at)) this.#growLog()
  }

  /** Forgets the key found last. */
  remove(): void {
    this.#erase(this.#found, this.#slot)
  }

  /**
   * Looks at the next slots and forgets keys whose state has expired, and with `evict` also idle ones, at most that many:
   * a key that is at its limit or more than half used stays. Returns how many went.
   */
  sweep(slots: number, now: number, evict = 0): number {
    if (this.#old !== undefined) this.#move(slots)
    if (this.#old !== undefined && evict === 0) return 0
    const segment = this.#segment
    let gone = 0
    for (let left = slots; left > 0; left--) {
      if (this.hand >= segment.capacity) this.hand = 0
      const slot = this.hand
      if (segment.isEmpty(slot) || !this.#mayGo(segment, slot, now, gone < evict)) {
        this.hand++
        continue
      }
      // Erasing moves a later entry into this slot: it is looked at next.
      this.#erase(segment, slot)
      gone++
      if (evict > 0 && gone >= evict) break
    }
    return gone
  }

  /** Gives memory back after most keys have gone. */
  shrink(): void {
    if (this.#old !== undefined || this.#segment.capacity <= FIRST_CAPACITY) return
    if (this.count > this.#segment.capacity * 0.2) return
    this.#resize(Math.max(FIRST_CAPACITY, Math.ceil((this.count * 2) / MAX_LOAD)))
  }

  /** The policy under which the states here are kept the longest. */
  get slowest(): Policy {
    return this.#slowest
  }

  /** Calls back with every state not yet expired, in its full form. */
  forEach(now: number, visit: (low: number, high: number, state: Float64Array) => void): void {
    this.#finishMove()
    const segment = this.#segment
    for (let slot = 0; slot < segment.capacity; slot++) {
      if (segment.isEmpty(slot) || this.#mayGo(segment, slot, now, false)) continue
      const cells = this.#arena === undefined ? this.#slotCells : logCells(this.cells[this.at] as number)
      visit(segment.low(slot), segment.high(slot), this.cells.subarray(this.at, this.at + cells))
    }
  }

  /** Puts a state back that `forEach` gave. */
  restore(low: number, high: number, state: Float64Array, mostKeys: number): void {
    if (this.#arena === undefined && state.length > this.#slotCells) this.#widen(this.policy)
    this.insert(low, high, 0, mostKeys)
    if (this.#arena === undefined) {
      this.cells.set(state, this.at)
      return
    }
    while ((this.cells[this.at] as number) < (state[0] as number)) this.#growLog()
    initLog(this.cells, this.at, this.cells[this.at] as number, state)
  }

  #growLog(): void {
    const cell = this.#slot * this.#found.stride + 1
    const arena = this.#arena as LogArena
    this.#found.cells[cell] = arena.grow(this.#found.cells[cell] as number)
    this.#point(this.#found, this.#slot)
  }

  #point(segment: Segment, slot: number): void {
    this.#found = segment
    this.#slot = slot
    const cell = slot * segment.stride + 1
    const arena = this.#arena
    if (arena === undefined) {
      this.cells = segment.cells
      this.at = cell
    } else {
      const reference = segment.cells[cell] as number
      this.cells = arena.cells(reference)
      this.at = arena.at(reference)
    }
  }

  #mayGo(segment: Segment, slot: number, now: number, evict: boolean): boolean {
    this.#point(segment, slot)
    const slowest = this.#slowest
    if (this.#algorithm.expiresAt(slowest, this.cells, this.at) <= now) return true
    if (!evict) return false
    return this.#algorithm.used(slowest, this.cells, this.at, now) * 2 <= this.#leastCapacity
  }

  #erase(segment: Segment, slot: number): void {
    if (this.#arena !== undefined) this.#arena.give(segment.cells[slot * segment.stride + 1] as number)
    segment.erase(slot, segment === this.#old ? this.#frontier : 0)
    this.#counted(-1)
  }

  #counted(keys: number): void {
    this.count += keys
    this.owner.keys += keys
    if (this.policy === blockPolicy) this.owner.blocks += keys
  }

  #larger(mostKeys: number): number {
    const capacity = this.#segment.capacity
    const wanted = capacity < DOUBLE_BELOW ? capacity * 2 : Math.ceil(capacity * 1.25)
    // The last step ends at the cap: a full store has no slots that can never be used.
    const needed = Math.ceil((mostKeys + 1) / MAX_LOAD)
    return Math.max(capacity + 1, Math.min(wanted, needed))
  }

  #resize(capacity: number): void {
    this.#finishMove()
    this.#old = this.#segment
    this.#frontier = 0
    this.hand = 0
    this.#segment = new Segment(capacity, this.#slotCells)
    this.owner.slots += capacity - this.#old.capacity
  }

  /** A limit beyond the compact form came along: rewrites the table once, all at once. Rare enough for one pause. */
  #widen(policy: Policy): void {
    this.#finishMove()
    const narrow = this.#segment
    this.#algorithm = policy.algorithm
    this.#slotCells = policy.algorithm.cells(policy)
    this.#segment = new Segment(narrow.capacity, this.#slotCells)
    for (let slot = 0; slot < narrow.capacity; slot++) {
      if (narrow.isEmpty(slot)) continue
      const to = this.#segment.take(narrow.low(slot), narrow.high(slot)) * this.#segment.stride + 1
      widen(narrow.cells, slot * narrow.stride + 1, this.#segment.cells, to)
    }
  }

  #finishMove(): void {
    if (this.#old !== undefined) this.#move(this.#old.capacity)
  }

  #move(slots: number): void {
    const old = this.#old as Segment
    const segment = this.#segment
    const end = Math.min(this.#frontier + slots, old.capacity)
    for (let slot = this.#frontier; slot < end; slot++) {
      if (old.isEmpty(slot)) continue
      const to = segment.take(old.low(slot), old.high(slot)) * segment.stride + 1
      const from = slot * old.stride + 1
      for (let i = 0; i < this.#slotCells; i++) segment.cells[to + i] = old.cells[from + i] as number
    }
    this.#frontier = end
    if (end === old.capacity) this.#old = undefined
  }
}
