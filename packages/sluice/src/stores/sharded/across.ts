// One check over several places that cannot decide together: nodes of a ring, slots of a Cluster. All charges or none, in
// three steps:
//
//   1. a dry run everywhere. One place denies: the check is denied, and nothing was touched.
//   2. a check everywhere. All allow: done.
//   3. else what the others took is given back, and the check is denied by those that denied.
//
// No lock is held between the steps, so this can be observed:
//
// - Between 2 and 3 a check that ends denied holds units for one round trip. Others may be denied for their sake, and told
//   to wait for them (or, by a bucket that queues, be held behind them). Two checks that want the same last units in two
//   places may deny each other; they are never both admitted.
// - Nobody is admitted beyond a limit, because every place decides by itself on everything it holds, these units included,
//   and no more is given back than this check took. A refund cannot tell units apart, though. If by the time it arrives
//   some of these units have left by themselves (the bucket drained, the window ended, somebody reset the key), it takes
//   as many of others instead; if newer ones came, it takes those, and the ones left go sooner by the time it took. Both are
//   bounded by this check's cost and one round trip. Where the key resets within a round trip, the units are left to go.
// - A crash between 2 and 3, or a refund that fails, leaves at most this check's cost charged until it expires.
// - A place that fails in 1 fails the check, with nothing charged. One that fails in 2 fails it after the others were given
//   theirs back. If that failure is ambiguous, at most this check's cost stays charged there until it expires: giving back
//   what was perhaps never taken would take units of others.
// - A place that decides by itself when its server fails (`degraded`) is taken at its word. What it admitted that way is not
//   given back: it may have charged nothing, or something elsewhere.
// - Every step has the deadline of its place, so a check over several places may take two of them, or three with a refund.
// - With an explicit time all places decide at that time. Without, each uses its own clock; durations in a verdict count
//   from the time of its place, and the outcome's `now` is the latest of them.

import type { Verdict } from "../../algorithms/algorithm.js"
import { StoreFailure } from "../fallback/store-failure.js"
import type { Charge, Degraded, Outcome, Store } from "../store.js"

/** What decides some charges together: a store, or one slot of a Cluster. */
export type Place = Pick<Store, "decide" | "check" | "refund">

/** The charges of a call that belong to one place. */
export interface Group<P = Place> {
  readonly place: P
  readonly charges: readonly Charge[]
  /** Where each of them stands in the call. */
  readonly positions: readonly number[]
}

/** The time and what decides when a place cannot, as every call is told them. */
type Terms = readonly [at: number | undefined, onStoreFailure: Degraded | undefined]

/** Which way a decision went wrong first, when several places say different things. */
const GRAVEST_FIRST: readonly Degraded[] = ["deny", "allow", "local"]

/** The charges by place, each place once, in order. Places are told apart by identity. */
export function groupCharges<P>(charges: readonly Charge[], placeOf: (charge: Charge) => P): Group<P>[] {
  const groups = new Map<P, { place: P; charges: Charge[]; positions: number[] }>()
  charges.forEach((charge, position) => {
    const place = placeOf(charge)
    const group = groups.get(place)
    if (group === undefined) groups.set(place, { place, charges: [charge], positions: [position] })
    else {
      group.charges.push(charge)
      group.positions.push(position)
    }
  })
  return [...groups.values()]
}

/** Charges every group, or none. At least one group; a single one takes one round trip, several take two. */
export async function checkAcross(
  groups: readonly Group[],
  at?: number,
  onStoreFailure?: Degraded,
): Promise<Outcome> {
  const terms: Terms = [at, onStoreFailure]
  const only = groups[0]
  if (only !== undefined && groups.length === 1) return only.place.check(only.charges, ...terms)

  const seen = await Promise.all(groups.map((group) => decide(group, terms)))
  if (!seen.every(isAllowed)) {
    const stale = groups.filter((_, i) => deniesStale(seen[i] as Outcome))
    await Promise.all(stale.map((group) => settle(group, terms)))
    return merge(groups, seen)
  }

  const results = await Promise.allSettled(
    groups.map((group, i) => (pays(group) ? check(group, terms) : (seen[i] as Outcome))),
  )
  const taken = results.map((result) => (result.status === "fulfilled" ? result.value : undefined))
  if (taken.every((outcome) => outcome?.allowed)) return merge(groups, taken as Outcome[])

  await Promise.all(groups.map((group, i) => giveBack(group, seen[i] as Outcome, taken[i], terms)))
  if (taken.includes(undefined)) throw gravest(results)
  // Who would have passed tells what the dry run saw: nothing of this check is charged there now.
  return merge(groups, taken.map((outcome, i) => (outcome?.allowed ? seen[i] : outcome)) as Outcome[])
}

/** Decides every group and charges nothing. At least one group. */
export async function decideAcross(
  groups: readonly Group[],
  at?: number,
  onStoreFailure?: Degraded,
): Promise<Outcome> {
  const terms: Terms = [at, onStoreFailure]
  const only = groups[0]
  if (only !== undefined && groups.length === 1) return only.place.decide(only.charges, ...terms)
  return merge(groups, await Promise.all(groups.map((group) => decide(group, terms))))
}

/** Waits for all of them, whatever happens to some, then throws the gravest failure if there was one. */
export async function allDone(calls: readonly Promise<unknown>[]): Promise<void> {
  const results = await Promise.allSettled(calls)
  if (results.some((result) => result.status === "rejected")) throw gravest(results)
}

/** The failure to tell of: one after which something may be charged all the same, else the first. */
function gravest(results: readonly PromiseSettledResult<unknown>[]): unknown {
  const reasons = results.flatMap((result) =>
    result.status === "rejected" ? [result.reason as unknown] : [],
  )
  return reasons.find((reason) => reason instanceof StoreFailure && reason.ambiguous) ?? reasons[0]
}

// Async, so that a place that throws instead of rejecting does not leave the calls before it alone.
async function decide(group: Group, terms: Terms): Promise<Outcome> {
  return group.place.decide(group.charges, ...terms)
}

async function check(group: Group, terms: Terms): Promise<Outcome> {
  return group.place.check(group.charges, ...terms)
}

function isAllowed(outcome: Outcome): boolean {
  return outcome.allowed
}

/** Whether a check takes anything here. Looking was done by the dry run. */
function pays(group: Group): boolean {
  return group.charges.some((charge) => charge.cost > 0)
}

/** Gives back what a group is known to have taken. A refund that fails leaves it charged until it expires. */
async function giveBack(
  group: Group,
  seen: Outcome,
  taken: Outcome | undefined,
  terms: Terms,
): Promise<void> {
  if (!taken?.allowed || taken.degraded !== undefined) return
  // From the dry run to the check was one round trip by the place's own clock; the refund will take another.
  const roundTrip = seen.degraded === undefined ? taken.now - seen.now : 0
  const charges = group.charges.filter(
    (charge, i) => charge.cost > 0 && (taken.verdicts[i] as Verdict).resetAfter > roundTrip,
  )
  if (charges.length === 0) return
  try {
    await group.place.refund(charges, ...terms)
  } catch {
    // The decision is made, and the place has counted its failure.
  }
}

function deniesStale(outcome: Outcome): boolean {
  return !outcome.allowed && outcome.verdicts.some((verdict) => verdict.stale)
}

/**
 * A state written in other terms (see `Verdict.stale`) is brought to this time by a denied check, not by a dry run:
 * without this it would be denied anew for ever. Should it be admitted by now, that is given back. Where the check would
 * have passed nobody waits for it; the next one that passes does it.
 */
async function settle(group: Group, terms: Terms): Promise<void> {
  try {
    const outcome = await check(group, terms)
    await giveBack(group, outcome, outcome, terms)
  } catch {
    // The next denied check tries again.
  }
}

function merge(groups: readonly Group[], outcomes: readonly Outcome[]): Outcome {
  const verdicts = new Array<Verdict>(groups.reduce((sum, group) => sum + group.charges.length, 0))
  groups.forEach((group, i) => {
    group.positions.forEach((position, j) => {
      verdicts[position] = outcomes[i]?.verdicts[j] as Verdict
    })
  })
  const allowed = outcomes.every(isAllowed)
  const deciding = allowed ? outcomes : outcomes.filter((outcome) => !outcome.allowed)
  return {
    allowed,
    now: Math.max(...outcomes.map((outcome) => outcome.now)),
    verdicts,
    degraded: GRAVEST_FIRST.find((way) => deciding.some((outcome) => outcome.degraded === way)),
  }
}
