// The counters of one namespace. Grows in small steps: while a larger segment fills, the old one is emptied a few slots per
// check, so that no single check pays for the growth.

import type { Algorithm, Policy, Verdict } from "../../algorithms/algorithm.js"
import { isBlock } from "../../algorithms/block.js"
import { initLog, logCells, logIsFull, settleLog } from "../../algorithms/sliding-window-log.js"
import type { CompactForm } from "./compact-form.js"
import { compactFormOf } from "./compact-form.js"
import type { KeyHash } from "./key-hash.js"
import { LogArena } from "./log-arena.js"
import { Segment } from "./segment.js"

const FIRST_CAPACITY = 16
/** Share of slots that may be taken. Above it, runs of linear probing get long. */
const MAX_LOAD = 0.85
/** Small tables double; large ones grow by a quarter, which keeps a key at 32 bytes ÷ 0.68 at the worst. */
const DOUBLE_BELOW = 65_536
/** Slots moved per check while growing. A quarter more slots needs at least 5 per insert to be done in time. */
const MOVED_PER_CHECK = 16

/** Slots looked at for expired keys per new key. */
const SWEPT_PER_INSERT = 4

/** Slots drawn at random in search of a key that may go, before walking. */
const DRAWN = 64

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
  /** The arithmetic for the states as they are kept here. */
  algorithm: Algorithm
  /** Where the state found or inserted last is. */
  cells: Float64Array
  at = 0
  /**
   * The hash whose state that is, so that a check of the same key, as in a flood from one client, need not look for it. Zero
   * when the state may have moved, while states move, and for logs.
   */
  low = 0
  high = 0
  count = 0

  /** Cells per slot: the state itself, or one reference into the arena of logs. */
  #slotCells: number
  readonly #arena: LogArena | undefined
  /** The short form that states are kept in, as long as all fit it. */
  #form: CompactForm | undefined
  #segment: Segment
  /** The segment being emptied, and how far. Slots below the frontier have moved. */
  #old: Segment | undefined
  #frontier = 0
  #found: Segment
  #slot = -1
  /** Where the sweep for expired keys is. */
  #hand = 0
  /** The least that any policy met here holds: what may be dropped must be idle for all. */
  #leastCapacity: number

  constructor(owner: TableOwner, policy: Policy) {
    this.owner = owner
    this.policy = policy
    this.#leastCapacity = policy.capacity
    this.#form = compactFormOf(policy)
    this.algorithm = this.#form?.algorithm ?? policy.algorithm
    this.#arena = policy.algorithm.name === "sliding-window-log" ? new LogArena() : undefined
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

  /** Another policy is in use from now on. */
  meet(policy: Policy): void {
    this.policy = policy
    if (policy.capacity < this.#leastCapacity) this.#leastCapacity = policy.capacity
    if (this.#form?.fits(policy) === false) this.#widen(policy)
  }

  /** Decides on the state of a hash, and charges it if allowed. False when there is none. */
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

  /** Points `cells` and `at` to the state of a hash. False when there is none. */
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

  /** Adds a hash that `find` did not find, with a state never used. */
  insert(low: number, high: number, now: number, mostKeys: number): void {
    // Each new key looks at some old ones: a table that is in use tidies itself.
    this.sweep(SWEPT_PER_INSERT, now)
    if (this.count + 1 > this.#segment.capacity * MAX_LOAD) this.#resize(this.#larger(mostKeys))
    const segment = this.#segment
    const slot = segment.take(low, high)
    if (this.#arena !== undefined) segment.cells[segment.at(slot)] = this.#arena.take(1)
    this.#counted(1)
    this.#point(segment, slot)
  }

  /** Decides on the state found. */
  decide(policy: Policy, cost: number, now: number, verdict: Verdict): void {
    this.algorithm.decide(policy, this.cells, this.at, cost, now, verdict)
  }

  /** Charges the state found. */
  charge(policy: Policy, cost: number, now: number): void {
    if (this.#arena !== undefined) this.#makeRoom(policy, now)
    else if (this.#form?.takes(this.cells, this.at, cost) === false) this.#widenHere(policy)
    this.algorithm.charge(policy, this.cells, this.at, cost, now)
  }

  refund(policy: Policy, cost: number, now: number): void {
    // A key with nothing charged stays as it is, expired or not.
    if (this.algorithm.used(policy, this.cells, this.at, now) === 0) return
    this.algorithm.refund(policy, this.cells, this.at, cost, now)
  }

  /** Before a charge: a sliding log may need room for one more entry. */
  #makeRoom(policy: Policy, now: number): void {
    if (logIsFull(this.cells, this.at)) settleLog(policy, this.cells, this.at, now)
    if (logIsFull(this.cells, this.at)) this.#growLog()
  }

  /** Forgets the key found last. */
  remove(): void {
    this.#erase(this.#found, this.#slot)
  }

  /** Looks at the next slots and forgets keys whose state has expired. */
  sweep(slots: number, now: number): void {
    if (this.#old !== undefined) this.#move(slots)
    if (this.#old !== undefined) return
    const segment = this.#segment
    for (let left = slots; left > 0; left--) {
      if (this.#hand >= segment.capacity) this.#hand = 0
      const slot = segment.slotOfStep(this.#hand)
      // Erasing moves a later entry into this slot: it is looked at next.
      if (!segment.isEmpty(slot) && this.#hasExpired(segment, slot, now)) this.#erase(segment, slot)
      else this.#hand++
    }
  }

  /**
   * Forgets one key whose state has expired or that is idle; one at its limit or more than half used stays. Returns after
   * how many slots it was found, or 0. Draws slots at random: walking on from one would take the first of every run, and
   * what remains would grow into ever longer runs. Only when hardly any may go does it walk.
   */
  evict(slots: number, now: number): number {
    if (this.#old !== undefined) this.#finishMove()
    const segment = this.#segment
    let slot = 0
    for (let looked = 1; looked <= slots; looked++) {
      slot = looked <= DRAWN ? randomBelow(segment.capacity) : (slot + 1) % segment.capacity
      if (segment.isEmpty(slot)) continue
      if (this.#hasExpired(segment, slot, now) || this.#isIdle(now)) {
        this.#erase(segment, slot)
        return looked
      }
    }
    return 0
  }

  /** Gives memory back after most keys have gone. */
  shrink(): void {
    if (this.#old !== undefined || this.#segment.capacity <= FIRST_CAPACITY) return
    if (this.count > this.#segment.capacity * 0.2) return
    this.#resize(Math.max(FIRST_CAPACITY, Math.ceil((this.count * 2) / MAX_LOAD)))
  }

  /** Calls back with every state not yet expired, in its full form. */
  forEach(now: number, visit: (low: number, high: number, state: Float64Array) => void): void {
    this.#finishMove()
    const segment = this.#segment
    for (let slot = 0; slot < segment.capacity; slot++) {
      if (segment.isEmpty(slot) || this.#hasExpired(segment, slot, now)) continue
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
    const cells = this.#found.cells
    const at = this.#found.at(this.#slot)
    cells[at] = (this.#arena as LogArena).grow(cells[at] as number)
    this.#point(this.#found, this.#slot)
  }

  #point(segment: Segment, slot: number): void {
    this.#found = segment
    this.#slot = slot
    this.cells = segment.cells
    this.at = segment.at(slot)
    this.#lose()
    const arena = this.#arena
    if (arena === undefined) return
    arena.locate(this.cells[this.at] as number)
    this.cells = arena.cells
    this.at = arena.at
  }

  /** What was found last may be elsewhere from now on. */
  #lose(): void {
    this.low = 0
    this.high = 0
  }

  #hasExpired(segment: Segment, slot: number, now: number): boolean {
    this.#point(segment, slot)
    return this.algorithm.expiresAt(this.policy, this.cells, this.at) <= now
  }

  /** Whether the state pointed to is at most half used. */
  #isIdle(now: number): boolean {
    return this.algorithm.used(this.policy, this.cells, this.at, now) * 2 <= this.#leastCapacity
  }

  #erase(segment: Segment, slot: number): void {
    if (this.#arena !== undefined) this.#arena.give(segment.cells[segment.at(slot)] as number)
    segment.erase(slot, segment === this.#old ? this.#frontier : 0)
    this.#lose()
    this.#counted(-1)
  }

  #counted(keys: number): void {
    this.count += keys
    this.owner.keys += keys
    if (isBlock(this.policy)) this.owner.blocks += keys
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
    this.#lose()
    this.#frontier = 0
    this.#hand = 0
    this.#segment = new Segment(capacity, this.#slotCells)
    this.owner.slots += this.#segment.capacity - this.#old.capacity
  }

  /** Something beyond the compact form came along: rewrites the table once, all at once. Rare enough for one pause. */
  #widen(policy: Policy): void {
    this.#finishMove()
    this.algorithm = policy.algorithm
    this.#slotCells = policy.algorithm.cells(policy)
    this.#resize(this.#segment.capacity)
    this.#finishMove()
    this.#form = undefined
  }

  /** The same, and points to the state found again. */
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
    // Whole runs: one that reaches over the end of the segment goes on at its front, and is looked for from the back.
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
