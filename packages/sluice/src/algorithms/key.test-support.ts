import type { Policy, Verdict } from "./algorithm.js"
import { newVerdict } from "./algorithm.js"

/** Cells around the state that no algorithm may touch. */
const MARGIN = 2
const GUARD = -7

/** One key as a store keeps it. The steps of a check are those of every store. */
export class Key {
  policy: Policy
  cells: Float64Array
  readonly at = MARGIN

  constructor(policy: Policy) {
    this.policy = policy
    const room = 2
    const { growing } = policy.algorithm
    this.cells = guarded(growing?.cells(room) ?? policy.algorithm.cells(policy))
    growing?.init(this.cells, this.at, room)
  }

  /** Decides, and charges when allowed. A denial writes only to settle a state kept in other terms. */
  check(cost: number, now: number): Verdict {
    if (this.policy.algorithm.growing !== undefined) return this.checkInTwoSteps(cost, now)
    const verdict = newVerdict()
    this.policy.algorithm.check(this.policy, this.cells, this.at, cost, now, verdict)
    this.#checkGuards()
    return verdict
  }

  checkInTwoSteps(cost: number, now: number): Verdict {
    const verdict = this.decide(cost, now)
    if (cost > 0 && (verdict.allowed || verdict.stale)) this.charge(verdict.allowed ? cost : 0, now)
    return verdict
  }

  decide(cost: number, now: number): Verdict {
    const verdict = newVerdict()
    this.policy.algorithm.decide(this.policy, this.cells, this.at, cost, now, verdict)
    return verdict
  }

  charge(cost: number, now: number): void {
    this.#makeRoom(now)
    this.policy.algorithm.charge(this.policy, this.cells, this.at, cost, now)
    this.#checkGuards()
  }

  /** Gives back; a key with nothing charged is not written. */
  refund(cost: number, now: number): void {
    if (this.used(now) === 0) return
    this.policy.algorithm.refund(this.policy, this.cells, this.at, cost, now)
    this.#checkGuards()
  }

  used(now: number): number {
    return this.policy.algorithm.used(this.policy, this.cells, this.at, now)
  }

  expiresAt(): number {
    return this.policy.algorithm.expiresAt(this.policy, this.cells, this.at)
  }

  copy(): Key {
    const copy = new Key(this.policy)
    copy.cells = this.cells.slice()
    return copy
  }

  /** A copy with its state brought to `now`, as the store leaves it after a denial in other terms. */
  settled(now: number): Key {
    const copy = this.copy()
    if (copy.decide(0, now).stale) copy.charge(0, now)
    return copy
  }

  #makeRoom(now: number): void {
    const { growing } = this.policy.algorithm
    if (growing?.isFull(this.cells, this.at) !== true) return
    growing.settle(this.policy, this.cells, this.at, now)
    if (!growing.isFull(this.cells, this.at)) return
    const room = (this.cells[this.at] as number) * 2
    const larger = guarded(growing.cells(room))
    growing.init(larger, this.at, room, this.cells, this.at)
    this.cells = larger
  }

  #checkGuards(): void {
    for (let i = 0; i < MARGIN; i++) {
      if (this.cells[i] !== GUARD || this.cells.at(-1 - i) !== GUARD) {
        throw new Error(`${this.policy.algorithm.name} wrote outside its state`)
      }
    }
  }
}

function guarded(cells: number): Float64Array {
  return new Float64Array(cells + 2 * MARGIN).fill(GUARD).fill(0, MARGIN, MARGIN + cells)
}
