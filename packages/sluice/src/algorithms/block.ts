// A block denies every cost until a time. Users do not choose this algorithm; as an algorithm, the block of a key is one more
// charge of the same check. Denied calls do not extend the block.
//
// A block whose policy has a penalty also counts the denials of a limit, and begins by itself when there are too many.
//
// State: [blocked until, for how long it was set, time of the first counted denial, denials, blocks so far]. A clock that is set
// back must not make a block last longer than it was set for, so the next check then restarts the block from its own time.

import type { Algorithm, Penalty, Policy } from "./algorithm.js"

const UNTIL = 0
const LENGTH = 1
const SINCE = 2
const DENIALS = 3
const BLOCKS = 4

/** More than any key is charged, and small enough for V8 to store as a small integer in every policy. */
const UNLIMITED = 2 ** 30

function settledUntil(cells: Float64Array, at: number, now: number): number {
  return Math.min(cells[at + UNTIL] as number, now + (cells[at + LENGTH] as number))
}

export const block: Algorithm = {
  name: "block",
  cells: () => 5,
  decide(policy, cells, at, _cost, now, verdict) {
    const left = settledUntil(cells, at, now) - now
    verdict.allowed = left <= 0
    verdict.remaining = left <= 0 ? policy.limit : 0
    verdict.used = 0
    verdict.retryAfter = Math.max(left, 0)
    verdict.resetAfter = Math.max(left, 0)
    verdict.delay = 0
    verdict.stale = now + left !== cells[at + UNTIL]
  },
  check(policy, cells, at, cost, now, verdict) {
    this.decide(policy, cells, at, cost, now, verdict)
    if (verdict.stale) this.charge(policy, cells, at, 0, now)
  },
  /** The cost is the duration in µs. A check charges 0, which only settles the state. */
  charge(_policy, cells, at, cost, now) {
    cells[at + UNTIL] = cost > 0 ? now + cost : settledUntil(cells, at, now)
    if (cost > 0) cells[at + LENGTH] = cost
  },
  refund() {},
  used: (policy, cells, at, now) => ((cells[at + UNTIL] as number) > now ? policy.limit : 0),
  expiresAt({ penalty }, cells, at) {
    const until = cells[at + UNTIL] as number
    if (penalty === undefined) return until
    const forgotten = (cells[at + BLOCKS] as number) > 0 ? until + penalty.forget : until
    const counted = (cells[at + DENIALS] as number) > 0 ? (cells[at + SINCE] as number) + penalty.within : 0
    return Math.max(forgotten, counted)
  },
}

/** A block that a penalty began. Times and lengths are in microseconds. */
export interface BlockStart {
  /** How many denials began it. */
  readonly denials: number
  /** Blocks of the key that count, this one included. */
  readonly blocks: number
  readonly length: number
  readonly until: number
}

/**
 * Counts a denial of a limit, and blocks the key if it was one too many. A key that is blocked counts none. Returns the block
 * that the denial began.
 */
export function penalize(
  penalty: Penalty,
  cells: Float64Array,
  at: number,
  now: number,
): BlockStart | undefined {
  const until = cells[at + UNTIL] as number
  if (until > now) return undefined
  let since = cells[at + SINCE] as number
  let denials = cells[at + DENIALS] as number
  if (denials === 0 || now - since >= penalty.within) {
    since = now
    denials = 0
  }
  // Written by a clock that was wrong: as if counted now.
  if (since - now > penalty.within) since = now
  denials++
  let started: BlockStart | undefined
  if (denials >= penalty.after) {
    const isForgotten = now - until >= penalty.forget
    const blocks = isForgotten ? 0 : (cells[at + BLOCKS] as number)
    const length = lengthOf(penalty, blocks)
    cells[at + UNTIL] = now + length
    cells[at + LENGTH] = length
    cells[at + BLOCKS] = blocks + 1
    started = { denials, blocks: blocks + 1, length, until: now + length }
    since = 0
    denials = 0
  }
  cells[at + SINCE] = since
  cells[at + DENIALS] = denials
  return started
}

/** The block that a check in Redis began, from the state that the script replied: it then has minus the denials in place of a time. */
export function startIn(cells: Float64Array): BlockStart | undefined {
  const [until = 0, length = 0, since = 0, , blocks = 0] = cells
  return since < 0 ? { denials: -since, blocks, length, until } : undefined
}

/** How long to block a key that was blocked so many times before. */
function lengthOf({ block, factor, max }: Penalty, blocks: number): number {
  let length = block
  for (let i = 0; i < blocks; i++) {
    const longer = Math.min(Math.floor(length * factor), max)
    if (longer === length) break
    length = longer
  }
  return length
}

/** Compares by name, because a policy may come from another copy of this library in the same process. */
export function isBlock(policy: Policy): boolean {
  return policy.algorithm.name === "block"
}

export const blockPolicy: Policy = {
  algorithm: block,
  limit: UNLIMITED,
  window: 1,
  windowMs: 0,
  capacity: UNLIMITED,
  buckets: 1,
  bucketSize: 1,
  token: 0,
  leak: 0,
  full: 0,
  anchored: false,
  calendar: undefined,
  queue: false,
  lease: 0,
  promisedCapacity: UNLIMITED,
  promisedWindow: 1,
}
