// One experiment under steady load, from healthy through the fault to healthy again, and its figures.

import { connectRedis, type FailureKind, type RedisStore, type StoreFailureEvent } from "sluice/redis"
import { keysWithoutExpiry } from "../redis/expiry-scan.js"
import type { RedisServer } from "../support/redis/single.js"
import type { Experiment, Scene } from "./experiments.js"
import { backAfter, latencyOf, quantile, worstWindow } from "./figures.js"
import { LagMeter } from "./lag.js"
import { HOT, Load, type Sample, seededRandom } from "./load.js"

export interface Plan {
  readonly seed: number
  readonly healthyMs: number
  readonly faultMs: number
  /** How long to wait for shared decisions after the end of the fault. */
  readonly patienceMs: number
  readonly perSecond: number
  readonly limit: number
  readonly windowMs: number
}

export interface Figures {
  readonly fault: string
  readonly checks: number
  /** Checks that were answered without Redis. */
  readonly degraded: number
  /** Failures by the kind that the store reports. */
  readonly failures: Readonly<Partial<Record<FailureKind, number>>>
  /** The median of healthy checks, in ms: what latency is added to. */
  readonly healthyMs: number
  /** The slowest check, less the median of healthy ones, and less the pauses of our own event loop. */
  readonly worstAddedMs: number
  /** The same with those pauses. */
  readonly worstAddedSeenMs: number
  /** From the first failed check to the first that the open breaker rejects. */
  readonly openAfterMs: number | undefined
  readonly p99OpenMs: number | undefined
  readonly p99OpenSeenMs: number | undefined
  /** From the first check that was answered without Redis to the last. */
  readonly degradedMs: number
  /** From the return of Redis to the first stretch of checks of which 99 % are shared. */
  readonly backAfterMs: number | undefined
  readonly limit: number
  /** The most the busiest key was admitted in any window, with `local`. */
  readonly worstWindow: number
  /** Admitted with `deny` although Redis was not reachable. */
  readonly denyAdmitted: number
  readonly ambiguous: number
  /** Calls of Redis per check during the fault, compared with before. */
  readonly loadRatio: number | undefined
  /** The longest pause of our own event loop. */
  readonly lagMs: number
  /** Rejected checks, checks without an answer, and keys without an expiry: all must be 0. */
  readonly rejected: number
  readonly unanswered: number
  readonly permanentKeys: number
}

export async function measure(experiment: Experiment, plan: Plan): Promise<Figures> {
  const random = seededRandom(plan.seed)
  const scene = await experiment.open(random)
  try {
    return await observe(experiment, scene, plan)
  } finally {
    await scene.stop()
  }
}

async function observe(experiment: Experiment, scene: Scene, plan: Plan): Promise<Figures> {
  const events: { at: number; kind: FailureKind; ambiguous: boolean }[] = []
  const onFailure = ({ failure }: StoreFailureEvent): void =>
    void events.push({ at: performance.now(), kind: failure.kind, ambiguous: failure.ambiguous })
  const store = (await connectRedis(scene.url, { onFailure })) as RedisStore
  const load = new Load(store, { ...plan, perSecond: experiment.perSecond ?? plan.perSecond })
  const lag = new LagMeter()
  const openAt: number[] = []
  // A ring does not show its breakers; there the first rejected check marks the opening.
  const watch = setInterval(() => {
    if (store.breakers?.includes("open")) openAt.push(performance.now())
  }, 2)
  lag.start()
  load.start()
  await reached(() => backAfter(load.samples, 0) !== undefined, plan.patienceMs)

  const healthyAt = performance.now()
  const callsAtFirst = await callsOf(scene.servers)
  await pause(plan.healthyMs)
  const callsBefore = await callsOf(scene.servers)
  const strikingAt = performance.now()
  await scene.strike()
  const struckAt = performance.now()
  await pause(plan.faultMs)
  const callsAfter = await callsOf(scene.servers)
  const mendingAt = performance.now()
  await scene.mend()
  const mendedAt = performance.now()
  await reached(() => backAfter(load.samples, mendedAt) !== undefined, plan.patienceMs)
  const unanswered = await withoutAnswer(load)
  lag.stop()
  clearInterval(watch)
  await store.close()

  const between = (from: number, to: number): Sample[] =>
    load.samples.filter(({ startedAt, endedAt }) => startedAt >= from && endedAt < to)
  const healthy = between(healthyAt, strikingAt)
  const during = load.samples.filter(({ startedAt }) => startedAt >= strikingAt)
  const healthyMs = quantile(
    healthy.map((sample) => latencyOf(sample, lag.pauses).own),
    0.5,
  )
  const latencies = during.map((sample) => latencyOf(sample, lag.pauses))
  const firstFailure = events.find(({ at, kind }) => at >= strikingAt && kind !== "breaker-open")?.at
  const keptAway = events.filter(({ kind }) => kind === "breaker-open").map(({ at }) => at)
  const openTimes = [...openAt, ...keptAway].filter((at) => firstFailure !== undefined && at >= firstFailure)
  const opened = openTimes.length === 0 ? undefined : Math.min(...openTimes)
  const without = during.filter(({ degraded }) => degraded !== undefined)
  const whileOpen = without
    .filter(({ startedAt }) => opened !== undefined && startedAt >= opened && startedAt < mendingAt)
    .map((sample) => latencyOf(sample, lag.pauses))
  const admitted = load.samples.filter(
    ({ policy, key, allowed }) => policy === "local" && key === HOT && allowed,
  )
  const denied = load.samples.filter(({ policy }) => policy === "deny")
  const unreachable = experiment.total
    ? denied.filter((s) => s.startedAt >= struckAt && s.endedAt < mendingAt)
    : []
  const failures: Partial<Record<FailureKind, number>> = {}
  for (const { kind } of events) failures[kind] = (failures[kind] ?? 0) + 1
  return {
    fault: experiment.name,
    checks: load.samples.length,
    degraded: load.samples.filter(({ degraded }) => degraded !== undefined).length,
    failures,
    healthyMs,
    worstAddedMs: Math.max(...latencies.map(({ own }) => own)) - healthyMs,
    worstAddedSeenMs: Math.max(...latencies.map(({ seen }) => seen)) - healthyMs,
    openAfterMs: opened === undefined || firstFailure === undefined ? undefined : opened - firstFailure,
    p99OpenMs: p99(whileOpen.map(({ own }) => own)),
    p99OpenSeenMs: p99(whileOpen.map(({ seen }) => seen)),
    degradedMs: stretchOf(without),
    backAfterMs: backAfter(load.samples, mendedAt),
    limit: plan.limit,
    worstWindow: worstWindow(
      admitted.map(({ decidedAt }) => decidedAt),
      plan.windowMs,
    ),
    denyAdmitted:
      denied.filter(({ degraded, allowed }) => degraded === "deny" && allowed).length +
      unreachable.filter(({ degraded, allowed }) => degraded === undefined && allowed).length,
    ambiguous: events.filter(({ ambiguous }) => ambiguous).length,
    loadRatio: ratio(
      [callsAtFirst, callsBefore, healthy.length],
      [callsBefore, callsAfter, between(strikingAt, mendingAt).length],
    ),
    lagMs: Math.max(0, ...lag.pauses.map(({ from, to }) => to - from)),
    rejected: load.errors.length,
    unanswered,
    permanentKeys: (await keysWithoutExpiry(scene.servers.filter(({ answering }) => answering))).length,
  }
}

function stretchOf(samples: readonly Sample[]): number {
  const starts = samples.map(({ startedAt }) => startedAt)
  return starts.length === 0 ? 0 : Math.max(...starts) - Math.min(...starts)
}

function p99(values: readonly number[]): number | undefined {
  return values.length === 0 ? undefined : quantile(values, 0.99)
}

/** Calls per check of the second stretch, by those of the first; undefined when the server could not be asked. */
function ratio(before: Stretch, during: Stretch): number | undefined {
  const [healthy, faulty] = [before, during].map(([from, to, checks]) =>
    from === undefined || to === undefined ? Number.NaN : (to - from) / checks,
  )
  const value = (faulty as number) / (healthy as number)
  return Number.isFinite(value) && value >= 0 ? value : undefined
}

type Stretch = readonly [from: number | undefined, to: number | undefined, checks: number]

/** How many scripts a single server has run. Undefined for a frozen one, and for several servers, whose sum would mean little. */
async function callsOf(servers: readonly RedisServer[]): Promise<number | undefined> {
  const [server] = servers
  if (server === undefined || servers.length > 1 || !server.answering) return undefined
  try {
    const stats = String(await server.cli("INFO", "commandstats"))
    const calls = [...stats.matchAll(/^cmdstat_(?:evalsha|eval):calls=(\d+)/gm)]
    return calls.reduce((sum, [, count]) => sum + Number(count), 0)
  } catch {
    return undefined
  }
}

/** Checks without an answer one second after the last check was sent. */
async function withoutAnswer(load: Load): Promise<number> {
  load.stop()
  await reached(() => load.waiting === 0, 1_000)
  return load.waiting
}

async function reached(isSo: () => boolean, withinMs: number): Promise<void> {
  const until = performance.now() + withinMs
  while (!isSo() && performance.now() < until) await pause(20)
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
