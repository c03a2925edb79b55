// All experiments of one run, one after the other. The command around it is run.mjs.

import { type Experiment, experiments } from "./experiments.js"
import { type FleetFigures, fleets, measureFleet } from "./fleet.js"
import { type Figures, measure, type Plan } from "./measure.js"

export interface ChaosOptions {
  readonly quick: boolean
  readonly seed: number
  /** How many times each fault is repeated; the worst figures count. */
  readonly rounds: number
  /** Only experiments and fleets whose name contains one of these; all when empty. */
  readonly only: readonly string[]
  readonly say: (what: string) => void
}

export interface ChaosFigures {
  readonly plan: Plan
  readonly rounds: number
  readonly faults: Figures[]
  readonly fleets: FleetFigures[]
  readonly unhandledRejections: number
}

const FULL = {
  healthyMs: 1_000,
  faultMs: 2_500,
  patienceMs: 10_000,
  perSecond: 500,
  limit: 50,
  windowMs: 1_000,
}
const QUICK = { ...FULL, healthyMs: 600, faultMs: 1_200 }

export async function runChaos({ quick, seed, rounds, only, say }: ChaosOptions): Promise<ChaosFigures> {
  const plan: Plan = { seed, ...(quick ? QUICK : FULL) }
  const isWanted = (one: { name: string; quick: boolean }): boolean =>
    only.length > 0 ? only.some((part) => one.name.includes(part)) : !quick || one.quick
  if (![...experiments, ...fleets].some(isWanted))
    throw new Error(`no fault is named like ${only.join(" or ")}`)
  let unhandledRejections = 0
  const note = (reason: unknown): void => {
    unhandledRejections++
    say(`unhandled rejection: ${reason instanceof Error ? reason.stack : String(reason)}`)
  }
  process.on("unhandledRejection", note)
  try {
    const faults: Figures[] = []
    for (const experiment of experiments.filter(isWanted)) {
      say(experiment.name)
      faults.push(await worstOfRounds(experiment, plan, rounds))
    }
    const fleetFigures: FleetFigures[] = []
    for (const fleet of fleets.filter(isWanted)) {
      say(`4 processes: ${fleet.name}`)
      fleetFigures.push(await measureFleet(fleet))
    }
    return { plan, rounds, faults, fleets: fleetFigures, unhandledRejections }
  } finally {
    process.off("unhandledRejection", note)
  }
}

async function worstOfRounds(experiment: Experiment, plan: Plan, rounds: number): Promise<Figures> {
  let worst = await measure(experiment, plan)
  for (let round = 1; round < rounds; round++)
    worst = worse(worst, await measure(experiment, { ...plan, seed: plan.seed + round }))
  return worst
}

/** Adds counts and keeps the larger of two measurements. "Never back" is worse than any time. */
function worse(a: Figures, b: Figures): Figures {
  const larger = (x: number | undefined, y: number | undefined): number | undefined =>
    x === undefined ? y : y === undefined ? x : Math.max(x, y)
  return {
    fault: a.fault,
    checks: a.checks + b.checks,
    degraded: a.degraded + b.degraded,
    failures: summed(a.failures, b.failures),
    healthyMs: Math.max(a.healthyMs, b.healthyMs),
    worstAddedMs: Math.max(a.worstAddedMs, b.worstAddedMs),
    worstAddedSeenMs: Math.max(a.worstAddedSeenMs, b.worstAddedSeenMs),
    openAfterMs: larger(a.openAfterMs, b.openAfterMs),
    p99OpenMs: larger(a.p99OpenMs, b.p99OpenMs),
    p99OpenSeenMs: larger(a.p99OpenSeenMs, b.p99OpenSeenMs),
    degradedMs: Math.max(a.degradedMs, b.degradedMs),
    backAfterMs:
      a.backAfterMs === undefined || b.backAfterMs === undefined
        ? undefined
        : Math.max(a.backAfterMs, b.backAfterMs),
    limit: a.limit,
    worstWindow: Math.max(a.worstWindow, b.worstWindow),
    denyAdmitted: a.denyAdmitted + b.denyAdmitted,
    ambiguous: a.ambiguous + b.ambiguous,
    loadRatio: larger(a.loadRatio, b.loadRatio),
    lagMs: Math.max(a.lagMs, b.lagMs),
    rejected: a.rejected + b.rejected,
    unanswered: a.unanswered + b.unanswered,
    permanentKeys: a.permanentKeys + b.permanentKeys,
  }
}

function summed(a: Figures["failures"], b: Figures["failures"]): Figures["failures"] {
  const sums: Record<string, number> = { ...a }
  for (const [kind, count] of Object.entries(b)) sums[kind] = (sums[kind] ?? 0) + count
  return sums
}
