// How much a key is asked for on this instance, and how many units a lease of it takes.

import { isBlock } from "../../algorithms/block.js"
import type { Charge } from "../store.js"
import type { ChargeList } from "./charge-lists.js"
import type { LeaseTable } from "./lease-table.js"
import {
  CHECKS,
  COLUMNS,
  DEMAND,
  DENIED_UNTIL,
  ENDS_AT,
  LEFT,
  NO_LEASE_BEFORE,
  REMAINING,
  SINCE,
  UNITS,
} from "./lease-table.js"

/**
 * A key with fewer checks than this in the length of a lease is cold: its checks go to the store one by one. A lease may take two
 * calls, one to take it and one to hand back what is left, so it saves none for fewer than four checks.
 */
const HOT_CHECKS = 4
/** The first demand is not judged by less than this part of the length of a lease: a few checks at once are no rate. */
const MIN_PART = 4
/** A lease takes what is needed in this part of its length, so that it is spent before it ends although demand goes up and down. */
const TAKEN_PART = 7 / 8
/** Of a bucket with less than one in this many parts left, units go to whoever asks first: those of a lease might drain unspent. */
const SCARCE_PART = 10

/** Counts a check of `cost` units. `at` is where the row starts in `cells`, `length` that of a lease. */
export function countCheck(cells: Float64Array, at: number, cost: number, now: number, length: number): void {
  if (now - (cells[at + SINCE] as number) >= length) settleDemand(cells, at, now, length)
  cells[at + UNITS] = (cells[at + UNITS] as number) + cost
  cells[at + CHECKS] = (cells[at + CHECKS] as number) + 1
}

/** Whether a key has no lease, no denial that holds and no demand any more. Ends the period of its demand if that is over. */
export function isCold(cells: Float64Array, head: number, now: number, length: number): boolean {
  const at = head * COLUMNS
  if (now < (cells[at + ENDS_AT] as number) || now < (cells[at + DENIED_UNTIL] as number)) return false
  if (now - (cells[at + SINCE] as number) < length) return false
  settleDemand(cells, at, now, length)
  return cells[at + DEMAND] === 0
}

/** Ends a period: more demand counts at once, less demand by half. */
function settleDemand(cells: Float64Array, at: number, now: number, length: number): void {
  const elapsed = Math.max(now - (cells[at + SINCE] as number), length)
  const before = cells[at + DEMAND] as number
  const current = ((cells[at + UNITS] as number) * length) / elapsed
  const isHot = ((cells[at + CHECKS] as number) * length) / elapsed >= HOT_CHECKS
  cells[at + DEMAND] = !isHot ? 0 : current > before ? current : (current + before) / 2
  cells[at + UNITS] = 0
  cells[at + CHECKS] = 0
  cells[at + SINCE] = now
}

/** Units that the key is expected to need in the length of a lease; 0 for a cold key. */
function demandOf(cells: Float64Array, at: number, now: number, length: number): number {
  const known = cells[at + DEMAND] as number
  if (known === 0 && (cells[at + CHECKS] as number) < HOT_CHECKS) return 0
  // Once the demand is known, a short time says little: a few checks more or less would look like much more demand.
  const elapsed = Math.max(now - (cells[at + SINCE] as number), known > 0 ? length : length / MIN_PART)
  return Math.max(known, ((cells[at + UNITS] as number) * length) / elapsed)
}

/** Units of the newest grant that will be spent before it ends, if the demand goes on: those a renewal need not take. */
function spendable(cells: Float64Array, at: number, demand: number, now: number, length: number): number {
  const time = Math.max((cells[at + ENDS_AT] as number) - now, 0)
  return Math.min(cells[at + LEFT] as number, (demand * time) / length)
}

/**
 * How many units to take at once: what is needed, at most the part of `remaining` that leaves as much to every other instance
 * and to checks that come without a lease.
 */
function leaseSize(needed: number, remaining: number, instances: number): number {
  return Math.min(Math.ceil(needed), Math.floor(remaining / (instances + 1)))
}

/**
 * How many units of each charge to take for a lease that the checks in `asked` wait for. Undefined if the key is cold or little is
 * left: each check then goes to the store by itself.
 */
export function leaseSizes(
  table: LeaseTable,
  list: ChargeList,
  head: number,
  asked: readonly (readonly Charge[])[],
  now: number,
  instances: number,
): number[] | undefined {
  const { cells } = table
  if (now < (cells[head * COLUMNS + NO_LEASE_BEFORE] as number)) return undefined
  const sizes: number[] = []
  let row = head
  for (const [i, policy] of list.policies.entries()) {
    const at = row * COLUMNS
    row = table.next(row)
    if (isBlock(policy)) {
      sizes.push(0)
      continue
    }
    const demand = demandOf(cells, at, now, list.length)
    const remaining = cells[at + REMAINING] as number
    if (demand === 0 || (policy.token > 0 && remaining * SCARCE_PART < policy.capacity)) return undefined
    let waiting = 0
    for (const charges of asked) waiting += (charges[i] as Charge).cost
    const needed = Math.max(demand * TAKEN_PART - spendable(cells, at, demand, now, list.length), waiting)
    const size = leaseSize(needed, remaining, instances)
    if (size < 2 * (asked[0]?.[i]?.cost ?? 1)) return undefined
    sizes.push(size)
  }
  return sizes
}
