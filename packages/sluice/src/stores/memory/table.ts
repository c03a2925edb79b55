// The counters of one namespace. A table grows in small steps: it moves a few slots per check from the old segment to a larger
// one, so that no single check pays for the growth.

import type { Algorithm, GrowingState, Policy, Verdict } from "../../algorithms/algorithm.js"
import { isBlock } from "../../algorithms/block.js"
import type { HoldId } from "../hold-id.js"
import type { CompactForm } from "./compact-form.js"
import { compactFormOf } from "./compact-form.js"
import type { KeyHash } from "./key-hash.js"
import { Segment } from "./segment.js"
import { StateArena } from "./state-arena.js"

const FIRST_CAPACITY = 16
/** The largest share of slots in use. Above it, linear probing makes long runs. */
const MAX_LOAD = 0.85
/** Smaller tables double. Larger ones grow by a quarter, so that a key of 32 bytes takes at most 32 ÷ 0.68 bytes. */
const DOUBLE_BELOW = 65_536
/** Slots moved per check while growing. To finish before the next growth, at least 5 per new key are needed. */
const MOVED_PER_CHECK = 16

/** Slots examined for expired keys per new key. */
const SWEPT_PER_INSERT = 4

/** Slots that an eviction tries at random before it walks from slot to slot. */
const RANDOM_TRIES = 64

/** Counts over all tables of a store. */
export interface TableOwner {
  keys: number
  blocks: number
  slots: number
}

export class Table {
  owner: TableOwner
  /** The policy of the last call. */
  policy: Policy
  /** Works on states in the form in which this table keeps them. */
  algorithm: Algorithm
  /** The place of the state that was found or inserted last. */
  cells: Float64Array
  at = 0
  /**
   * The hash of the key at that place, so that a repeated check of one key needs no lookup. Zero if the state may have moved,
   * while the table grows, and for states that grow.
   */
  low = 0
  high = 0
  count = 0

  /** Cells per slot: those of the state, or one reference to a state in the arena. */
  #slotCells: number
  /** Set if the states of this table grow. */
  readonly #growing: GrowingState | undefined
  readonly #arena: StateArena | undefined
  /** The compact form of the states, as long as every state fits it. */
  #form: CompactForm | undefined
  #segment: Segment
  /** The segment that is being moved. Slots below the frontier have moved already. */
  #old: Segment | undefined
  #frontier = 0
  #found: Segment
  #slot = -1
  /** The position of the sweep for expired keys. */
  #sweepStep = 0
  /** The smallest capacity of any policy used here: a key is evicted only if it is idle under all of them. */
  #minCapacity: number

  constructor(owner: TableOwner, policy: Policy) {
    this.owner = owner
    this.policy = policy
    this.#minCapacity = policy.capacity
    this.#form = compactFormOf(policy)
    this.algorithm = this.#form?.algorithm ?? policy.algorithm
    this.#growing = policy.algorithm.growing
    this.#arena = this.#growing && new StateArena(this.#growing)
    this.#slotCells = this.#arena === undefined ? this.algorithm.cells(policy) : 1
    this.#segment = new Segment(FIRST_CAPACITY, this.#slotCells)
    owner.slots += this.#segment.capacity
    this.#found = this.#segment
    this.cells = this.#segment.cells
  }

  get slots(): number {
    return this.#segment.capacity
  }

  get bytes(): number {
    return this.#segment.bytes + (this.#old?.bytes ?? 0) + (this.#arena?.bytes ?? 0)
  }

  /** Sets the policy of the following calls. */
  setPolicy(policy: Policy): void {
    this.policy = policy
    if (policy.capacity < this.#minCapacity) this.#minCapacity = policy.capacity
    if (this.#form?.fits(policy) === false) this.#widen(policy)
  }

  /** Decides on the state of a hash, and charges it if allowed. False if there is no state. */
  check({ low, high }: KeyHash, policy: Policy, cost: number, now: number, verdict: Verdict): boolean {
    if (!this.find(low, high)) return false
    if (this.#arena === undefined) {
      if (this.#old === undefined) {
        this.low = low
        this.high = high
      }
      this.algorithm.check(policy, this.cells, this.at, cost, now, verdict)
    } else {
      this.decide(policy, cost, now, verdict)
      if (cost > 0 && (verdict.allowed || verdict.stale)) this.charge(policy, verdict.allowed ? cost : 0, now)
    }
    return true
  }

  /** Points `cells` and `at` to the state of a hash. False if there is none. */
  find(low: number, high: number): boolean {
    if (this.#old !== undefined) {
      this.#move(MOVED_PER_CHECK)
      const slot = this.#old?.find(low, high, this.#frontier) ?? -1
      if (slot >= 0) {
        this.#point(this.#old as Segment, slot)
        return true
      }
    }
    const slot = this.#segment.find(low, high, 0)
    if (slot < 0) return false
    this.#point(this.#segment, slot)
    return true
  }

  /** Adds a hash that the table does not have, with an empty state. */
  insert(low: number, high: number, now: number, maxKeys: number): void {
    // Every new key pays for examining a few old ones.
    this.sweep(SWEPT_PER_INSERT, now)
    if (this.count + 1 > this.#segment.capacity * MAX_LOAD) this.#resize(this.#larger(maxKeys))
    const segment = this.#segment
    const slot = segment.take(low, high)
    if (this.#arena !== undefined) segment.cells[segment.at(slot)] = this.#arena.take(1)
    this.#counted(1)
    this.#point(segment, slot)
  }

  /** Decides on the state that was found last. */
  decide(policy: Policy, cost: number, now: number, verdict: Verdict): void {
    this.algorithm.decide(policy, this.cells, this.at, cost, now, verdict)
  }

  /** Charges the state that was found last. */
  charge(policy: Policy, cost: number, now: number): void {
    if (this.#growing !== undefined) this.#makeRoom(this.#growing, policy, now)
    else if (this.#form?.takes(this.cells, this.at, cost) === false) this.#widenHere(policy)
    this.algorithm.charge(policy, this.cells, this.at, cost, now)
  }

  /** Gives the hold that was charged last its id. */
  nameHold(id: HoldId | undefined): void {
    if (id !== undefined) this.algorithm.holds?.nameLast(this.cells, this.at, id.high, id.low)
  }

  /** False if the hold had ended. */
  releaseHold({ high, low }: HoldId, now: number): boolean {
    return this.algorithm.holds?.release(this.cells, this.at, high, low, now) ?? false
  }

  isHeld({ high, low }: HoldId, now: number): boolean {
    return this.algorithm.holds?.isHeld(this.cells, this.at, high, low, now) ?? false
  }

  extendHold(policy: Policy, { high, low }: HoldId, now: number): void {
    this.algorithm.holds?.extend(policy, this.cells, this.at, high, low, now)
  }

  refund(policy: Policy, cost: number, now: number, chargedAt: number | undefined): void {
    // A state without charges stays unchanged.
    if (this.algorithm.used(policy, this.cells, this.at, now) === 0) return
    this.algorithm.refund(policy, this.cells, this.at, cost, now, chargedAt)
  }

  /** Makes room for one more entry of a state that grows. */
  #makeRoom(growing: GrowingState, policy: Policy, now: number): void {
    if (growing.isFull(this.cells, this.at)) growing.settle(policy, this.cells, this.at, now)
    if (growing.isFull(this.cells, this.at)) this.#growState()
  }

  /** Removes the key that was found last. */
  remove(): void {
    this.#erase(this.#found, this.#slot)
  }

  /** Examines the next slots and removes keys whose state has expired. */
  sweep(slots: number, now: number): void {
    if (this.#old !== undefined) this.#move(slots)
    if (this.#old !== undefined) return
    const segment = this.#segment
    for (let left = slots; left > 0; left--) {
      if (this.#sweepStep >= segment.capacity) this.#sweepStep = 0
      const slot = segment.slotOfStep(this.#sweepStep)
      // Erasing may move a later entry into this slot, so this slot is examined again.
      if (!segment.isEmpty(slot) && this.#hasExpired(segment, slot, now)) this.#erase(segment, slot)
      else this.#sweepStep++
    }
  }

  /**
   * Removes one key that has expired or is at most half used. Returns how many slots were examined, or 0 if no key was removed.
   * Tries slots at random first: walking would remove the first key of every run, and the rest would grow into ever longer runs.
   */
  evict(slots: number, now: number): number {
    if (this.#old !== undefined) this.#finishMove()
    const segment = this.#segment
    let slot = 0
    for (let looked = 1; looked <= slots; looked++) {
      slot = looked <= RANDOM_TRIES ? randomBelow(segment.capacity) : (slot + 1) % segment.capacity
      if (segment.isEmpty(slot)) continue
      if (this.#hasExpired(segment, slot, now) || this.#isIdle(now)) {
        this.#erase(segment, slot)
        return looked
      }
    }
    return 0
  }

  /** Shrinks the table after most keys have been removed. */
  shrink(): void {
    if (this.#old !== undefined || this.#segment.capacity <= FIRST_CAPACITY) return
    if (this.count > this.#segment.capacity * 0.2) return
    this.#resize(Math.max(FIRST_CAPACITY, Math.ceil((this.count * 2) / MAX_LOAD)))
  }

  /** Calls back with every state that has not expired. */
  forEach(now: number, visit: (low: number, high: number, state: Float64Array) => void): void {
    this.#finishMove()
    const segment = this.#segment
    for (let slot = 0; slot < segment.capacity; slot++) {
      if (segment.isEmpty(slot) || this.#hasExpired(segment, slot, now)) continue
      const cells = this.#growing?.cells(this.cells[this.at] as number) ?? this.#slotCells
      visit(segment.low(slot), segment.high(slot), this.cells.subarray(this.at, this.at + cells))
    }
  }

  /** Inserts a state that `forEach` passed to its callback. */
  restore(low: number, high: number, state: Float64Array, maxKeys: number): void {
    if (this.#arena === undefined && state.length > this.#slotCells) this.#widen(this.policy)
    this.insert(low, high, 0, maxKeys)
    if (this.#growing === undefined) {
      this.cells.set(state, this.at)
      return
    }
    while ((this.cells[this.at] as number) < (state[0] as number)) this.#growState()
    this.#growing.init(this.cells, this.at, this.cells[this.at] as number, state)
  }

  #growState(): void {
    const cells = this.#found.cells
    const at = this.#found.at(this.#slot)
    cells[at] = (this.#arena as StateArena).grow(cells[at] as number)
    this.#point(this.#found, this.#slot)
  }

  #point(segment: Segment, slot: number): void {
    this.#found = segment
    this.#slot = slot
    this.cells = segment.cells
    this.at = segment.at(slot)
    this.#forgetPlace()
    const arena = this.#arena
    if (arena === undefined) return
    arena.locate(this.cells[this.at] as number)
    this.cells = arena.cells
    this.at = arena.at
  }

  /** Forgets the place of the last key, because states may move. */
  #forgetPlace(): void {
    this.low = 0
    this.high = 0
  }

  #hasExpired(segment: Segment, slot: number, now: number): boolean {
    this.#point(segment, slot)
    return this.algorithm.expiresAt(this.policy, this.cells, this.at) <= now
  }

  /** Whether the state that was found last is at most half used. A hold is never forgotten: its holder relies on it. */
  #isIdle(now: number): boolean {
    if (this.algorithm.holds !== undefined) return false
    return this.algorithm.used(this.policy, this.cells, this.at, now) * 2 <= this.#minCapacity
  }

  #erase(segment: Segment, slot: number): void {
    if (this.#arena !== undefined) this.#arena.give(segment.cells[segment.at(slot)] as number)
    segment.erase(slot, segment === this.#old ? this.#frontier : 0)
    this.#forgetPlace()
    this.#counted(-1)
  }

  #counted(keys: number): void {
    this.count += keys
    this.owner.keys += keys
    if (isBlock(this.policy)) this.owner.blocks += keys
  }

  #larger(maxKeys: number): number {
    const capacity = this.#segment.capacity
    const wanted = capacity < DOUBLE_BELOW ? capacity * 2 : Math.ceil(capacity * 1.25)
    // The last growth ends at what `maxKeys` needs, so that a full store has no unusable slots.
    const needed = Math.ceil((maxKeys + 1) / MAX_LOAD)
    return Math.max(capacity + 1, Math.min(wanted, needed))
  }

  #resize(capacity: number): void {
    this.#finishMove()
    this.#old = this.#segment
    this.#forgetPlace()
    this.#frontier = 0
    this.#sweepStep = 0
    this.#segment = new Segment(capacity, this.#slotCells)
    this.owner.slots += this.#segment.capacity - this.#old.capacity
  }

  /** Rewrites all states in their full form at once, because one does not fit the compact form. Rare enough for one pause. */
  #widen(policy: Policy): void {
    this.#finishMove()
    this.algorithm = policy.algorithm
    this.#slotCells = policy.algorithm.cells(policy)
    this.#resize(this.#segment.capacity)
    this.#finishMove()
    this.#form = undefined
  }

  /** `#widen`, then points to the same state again. */
  #widenHere(policy: Policy): void {
    const low = this.#found.low(this.#slot)
    const high = this.#found.high(this.#slot)
    this.#widen(policy)
    this.find(low, high)
  }

  #finishMove(): void {
    if (this.#old !== undefined) this.#move(this.#old.capacity)
  }

  #move(slots: number): void {
    const old = this.#old as Segment
    const segment = this.#segment
    let end = Math.min(this.#frontier + slots, old.capacity)
    // Moves whole runs, so that `find` in the old segment never starts inside a run that has partly moved.
    while (end < old.capacity && !old.isEmpty(end)) end++
    for (let slot = this.#frontier; slot < end; slot++) {
      if (old.isEmpty(slot)) continue
      const to = segment.take(old.low(slot), old.high(slot))
      const cells = segment.cells
      const at = segment.at(to)
      const oldCells = old.cells
      const oldAt = old.at(slot)
      if (old.stride !== segment.stride) this.#form?.widen(oldCells, oldAt, cells, at)
      else for (let i = 0; i < this.#slotCells; i++) cells[at + i] = oldCells[oldAt + i] as number
    }
    this.#frontier = end
    if (end === old.capacity) this.#old = undefined
  }
}

function randomBelow(bound: number): number {
  return Math.floor(Math.random() * bound)
}
