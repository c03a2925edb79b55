// One check over several places that cannot decide together: nodes of a ring, or slots of a Cluster. It charges all or none, in
// three steps:
//
//   1. A dry run in every place. If one place denies, the check is denied and nothing was charged.
//   2. A check in every place. If all allow, the check is allowed.
//   3. Otherwise the places that allowed refund their charges, and the check is denied.
//
// No lock is held between the steps. The consequences are:
//
// - Between steps 2 and 3, a check that will be denied holds units for one round trip. Other checks may be denied because of them
//   (or delayed by a bucket that queues). Two checks that want the same last units in two places may deny each other; they are
//   never both allowed.
// - No limit is exceeded, because every place decides on everything it holds, these units included, and a refund gives back no
//   more than this check took. A refund cannot distinguish units, though. If some of these units have expired before the refund
//   arrives, it takes as many of other requests; if newer units came, it takes those first, so the others expire sooner. Both
//   effects are bounded by the cost of this check and one round trip. If a key resets within one round trip, nothing is refunded.
// - A crash between steps 2 and 3, or a refund that fails, leaves at most the cost of this check charged until it expires.
// - If a place fails in step 1, the check fails with nothing charged. If a place fails in step 2, the check fails after the others
//   have refunded. If that failure is ambiguous, at most the cost of this check stays charged there until it expires: a refund of
//   units that were perhaps never charged would take units of others.
// - If a place decides locally because its server fails (`degraded`), its decision counts. It is not refunded, because it may have
//   charged nothing, or something elsewhere.
// - Every step has the deadline of its place, so a check over several places may take two deadlines, or three with a refund.
// - With an explicit time, all places decide at that time. Without one, each uses its own clock: durations in a verdict count from
//   the time of its place, and the outcome's `now` is the latest of them.

import type { Verdict } from "../../algorithms/algorithm.js"
import { StoreFailure } from "../fallback/store-failure.js"
import type { BegunBlock, Charge, Degraded, Outcome, Settled, Settlement, Store } from "../store.js"

/** Decides charges together: a store, or one slot of a Cluster. */
export type Place = Pick<Store, "decide" | "check" | "refund">

/** The charges of one call that belong to one place. */
export interface Group<P = Place> {
  readonly place: P
  readonly charges: readonly Charge[]
  /** The index of each charge in the call. */
  readonly positions: readonly number[]
}

/** The arguments that every call to a place gets. */
type Terms = readonly [at: number | undefined, onStoreFailure: Degraded | undefined]

/** If places degraded in different ways, the outcome shows the first of these. */
const GRAVEST_FIRST: readonly Degraded[] = ["deny", "allow", "local"]

/** Groups charges by place, in order. Places are compared by identity. */
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

/** Charges every group, or none. Takes at least one group. One group takes one round trip, several take two. */
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
    const settled = await Promise.all(
      groups.map((group, i) => {
        const outcome = seen[i] as Outcome
        return deniesStale(outcome) || deniesPenalized(group, outcome) ? settle(group, terms) : undefined
      }),
    )
    return merge(
      groups,
      seen.map((outcome, i) => settled[i] ?? outcome),
    )
  }

  const results = await Promise.allSettled(
    groups.map((group, i) => (pays(group) ? check(group, terms) : (seen[i] as Outcome))),
  )
  const taken = results.map((result) => (result.status === "fulfilled" ? result.value : undefined))
  if (taken.every((outcome) => outcome?.allowed)) return merge(groups, taken as Outcome[])

  await Promise.all(groups.map((group, i) => giveBack(group, seen[i] as Outcome, taken[i], terms)))
  if (taken.includes(undefined)) throw gravest(results)
  // Places that allowed the check show the result of the dry run, because their charges were refunded.
  return merge(groups, taken.map((outcome, i) => (outcome?.allowed ? seen[i] : outcome)) as Outcome[])
}

/** Decides every group and charges nothing. Takes at least one group. */
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

/**
 * Settles group by group. The group with a hold to claim comes first: if that hold has ended, the others stay unchanged. Later
 * groups are settled even if one of them fails.
 */
export async function settleAcross<G extends { readonly charges: readonly Charge[] }>(
  groups: readonly G[],
  settle: (group: G) => Promise<Settled>,
): Promise<Settled> {
  const claiming = groups.find(({ charges }) =>
    charges.some((charge) => (charge as Settlement).correction === "claim"),
  )
  const first = claiming === undefined ? undefined : await settle(claiming)
  if (first !== undefined && first.result !== "settled") return first
  const settled: Settled[] = first === undefined ? [] : [first]
  const others = groups.filter((group) => group !== claiming)
  await allDone(others.map(async (group) => settled.push(await settle(group))))
  return {
    result: settled.find(({ result }) => result !== "settled")?.result ?? "settled",
    now: Math.max(0, ...settled.map(({ now }) => now)),
  }
}

/** Waits for all calls, even if some fail, then throws the gravest failure. */
export async function allDone(calls: readonly Promise<unknown>[]): Promise<void> {
  const results = await Promise.allSettled(calls)
  if (results.some((result) => result.status === "rejected")) throw gravest(results)
}

/** The failure to throw: an ambiguous one, after which something may be charged, else the first. */
function gravest(results: readonly PromiseSettledResult<unknown>[]): unknown {
  const reasons = results.flatMap((result) =>
    result.status === "rejected" ? [result.reason as unknown] : [],
  )
  return reasons.find((reason) => reason instanceof StoreFailure && reason.ambiguous) ?? reasons[0]
}

// Async, so that a place that throws instead of rejecting does not leave earlier calls unhandled.
async function decide(group: Group, terms: Terms): Promise<Outcome> {
  return group.place.decide(group.charges, ...terms)
}

async function check(group: Group, terms: Terms): Promise<Outcome> {
  return group.place.check(group.charges, ...terms)
}

function isAllowed(outcome: Outcome): boolean {
  return outcome.allowed
}

/** Whether a check charges anything here. If not, the dry run was enough. */
function pays(group: Group): boolean {
  return group.charges.some((charge) => charge.cost > 0)
}

/** Refunds what a group is known to have charged. If the refund fails, the charge stays until it expires. */
async function giveBack(
  group: Group,
  seen: Outcome,
  taken: Outcome | undefined,
  terms: Terms,
): Promise<void> {
  if (!taken?.allowed || taken.degraded !== undefined) return
  // By the clock of the place, one round trip passed between dry run and check. The refund takes another.
  const roundTrip = seen.degraded === undefined ? taken.now - seen.now : 0
  const charges = group.charges.filter(
    (charge, i) => charge.cost > 0 && (taken.verdicts[i] as Verdict).resetAfter > roundTrip,
  )
  if (charges.length === 0) return
  try {
    await group.place.refund(charges, ...terms)
  } catch {
    // The decision stands, and the place has counted its failure.
  }
}

function deniesStale(outcome: Outcome): boolean {
  return !outcome.allowed && outcome.verdicts.some((verdict) => verdict.stale)
}

/** Whether a penalty must count the denial. Only a check counts it. */
function deniesPenalized(group: Group, outcome: Outcome): boolean {
  return !outcome.allowed && group.charges.some(({ penalizes }) => penalizes !== undefined) && pays(group)
}

/**
 * Settles a stale state (see `Verdict.stale`) that denied the dry run. Only a check settles a state; without it, the state would
 * deny every following dry run. If the check is allowed by now, its charge is refunded. Returns the outcome if it was denied.
 */
async function settle(group: Group, terms: Terms): Promise<Outcome | undefined> {
  try {
    const outcome = await check(group, terms)
    await giveBack(group, outcome, outcome, terms)
    return outcome.allowed ? undefined : outcome
  } catch {
    // The next denied check tries again.
    return undefined
  }
}

function merge(groups: readonly Group[], outcomes: readonly Outcome[]): Outcome {
  const verdicts = new Array<Verdict>(groups.reduce((sum, group) => sum + group.charges.length, 0))
  const times = new Array<number>(verdicts.length)
  groups.forEach((group, i) => {
    group.positions.forEach((position, j) => {
      verdicts[position] = outcomes[i]?.verdicts[j] as Verdict
      times[position] = outcomes[i]?.now as number
    })
  })
  const now = Math.max(...times)
  const allowed = outcomes.every(isAllowed)
  const deciding = allowed ? outcomes : outcomes.filter((outcome) => !outcome.allowed)
  return {
    allowed,
    now,
    verdicts,
    degraded: GRAVEST_FIRST.find((way) => deciding.some((outcome) => outcome.degraded === way)),
    ...(times.every((time) => time === now) ? {} : { times }),
    ...(outcomes.some((outcome) => outcome.begun !== undefined) ? { begun: begunIn(groups, outcomes) } : {}),
  }
}

function begunIn(groups: readonly Group[], outcomes: readonly Outcome[]): BegunBlock[] {
  return groups.flatMap(({ positions }, i) =>
    (outcomes[i]?.begun ?? []).map((block) => ({ ...block, limit: positions[block.limit] as number })),
  )
}
