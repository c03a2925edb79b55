// Leases on Sentinel, on a Cluster and on a ring, with real processes. A fail-over to a replica that has not received the last
// writes loses charges. Then docs/redis.md promises: at most the limit, plus what was charged in the time that was lost.

import { setTimeout as after } from "node:timers/promises"
import { expect, it } from "vitest"
import { compilePolicy } from "../../packages/sluice/src/policy.js"
import { afterThis } from "../support/after-this.js"
import { eventually } from "../support/eventually.js"
import { startCluster } from "../support/redis/cluster.js"
import { startRing } from "../support/redis/ring.js"
import { startSentinel } from "../support/redis/sentinel.js"
import type { RedisServer } from "../support/redis/single.js"
import { type Fleet, type FleetOptions, startFleet } from "./fleet.js"
import { type Admission, excess } from "./promises.js"

const LENGTH = "100ms"
const LENGTH_MICROS = 100_000
/** How far the clocks of this process, of the fleet and of Redis may be apart: they are one clock, read in different ways. */
const CLOCKS_MICROS = 10_000
// Nothing comes back while the test runs, so what is admitted twice stays visible. Three processes with a check every 10 ms need
// four seconds for it, so that something is left when the primary fails, on a busy machine too.
const LIMIT = 1_200
const EVERY_MS = 10
const log = { algorithm: "sliding-window-log", limit: LIMIT, window: "1d" } as const
const bucket = { algorithm: "token-bucket", limit: LIMIT, window: "1d" } as const

/** A part of the time, in µs since 1970. */
interface Span {
  readonly from: number
  readonly to: number
}

const micros = (): number => (performance.timeOrigin + performance.now()) * 1_000

const fleetOn = (url: string, limits: FleetOptions["limits"]): Promise<Fleet> =>
  startFleet({
    processes: 3,
    url,
    limits,
    length: LENGTH,
    ms: 60_000,
    atOnce: 1,
    everyMs: EVERY_MS,
    untilDenied: true,
  })

/** Keeps the writes of a primary from its replicas, lets the fleet go on for a while, and kills the primary. */
async function loseWrites(
  primary: RedisServer,
  replicas: readonly RedisServer[],
  fleet: Fleet,
): Promise<Span> {
  // The replicas cannot log in again once their connections are cut.
  for (const replica of replicas) await replica.cli("CONFIG", "SET", "masterauth", "wrong")
  const from = micros()
  await primary.cli("CLIENT", "KILL", "TYPE", "replica")
  const before = fleet.admissions(0).length
  await eventually(() => fleet.admissions(0).length >= before + 60, {
    what: "units are charged that get lost",
  })
  await primary.kill()
  const to = micros()
  for (const replica of replicas) await replica.cli("CONFIG", "SET", "masterauth", "")
  return { from, to }
}

/** Units that were charged in a span were spent in it, or at most the length of a lease later. */
function without(admitted: readonly Admission[], { from, to }: Span): Admission[] {
  return admitted.filter(({ at }) => at < from - CLOCKS_MICROS || at > to + LENGTH_MICROS + CLOCKS_MICROS)
}

function excessOf(limit: FleetOptions["limits"][number], admitted: readonly Admission[]): number {
  return excess(compilePolicy(limit, "", { length: LENGTH }), admitted, [])
}

/** Checks the bound for each limit. */
function expectBound(fleet: Fleet, limits: FleetOptions["limits"], lost: Span): void {
  for (const [index, limit] of limits.entries()) {
    const admitted = fleet.admissions(index)
    const kept = without(admitted, lost)
    expect(excessOf(limit, kept), `${limit.name}: beyond the limit and what was lost`).toBe(0)
    // Otherwise nothing was lost, and the test shows nothing.
    expect(excessOf(limit, admitted), `${limit.name}: admitted twice`).toBeGreaterThan(0)
    expect(kept.length, `${limit.name}: admitted besides`).toBeGreaterThan(LIMIT / 2)
  }
  expect(fleet.byLease()).toBeGreaterThan(0)
}

it("a fail-over of Sentinel that loses writes admits at most the limit plus what was charged in the lost time", {
  timeout: 90_000,
}, async () => {
  const topology = await startSentinel({ replicas: 1, sentinels: 1 })
  afterThis(() => topology.stop())
  const limits = [
    { name: "log", ...log },
    { name: "bucket", ...bucket },
  ]
  const fleet = await fleetOn(topology.url, limits)
  const lost = await loseWrites(await topology.primary(), await topology.replicas(), fleet)
  await fleet.ended
  expectBound(fleet, limits, lost)
})

it("a fail-over in a Cluster that loses writes admits at most the limit plus what was charged in the lost time", {
  timeout: 90_000,
}, async () => {
  const cluster = await startCluster()
  afterThis(() => cluster.stop())
  const limits = [{ name: "log", ...log }]
  const fleet = await fleetOn(cluster.url, limits)
  const slot = Number(await cluster.nodes[0]?.cli("CLUSTER", "KEYSLOT", await keyOf(cluster.nodes)))
  const lost = await loseWrites(await cluster.nodeForSlot(slot), await cluster.replicasForSlot(slot), fleet)
  await fleet.ended
  expectBound(fleet, limits, lost)
})

it("a server of a ring that loses everything changes nothing for the keys of the others", {
  timeout: 90_000,
}, async () => {
  const ring = await startRing(3)
  afterThis(() => ring.stop())
  const limits = ["a", "b", "c", "d", "e", "f", "g", "h"].map((name) => ({ name, ...log, limit: LIMIT / 2 }))
  const fleet = await fleetOn(ring.url, limits)
  await after(200)
  const [victim] = ring.servers as [RedisServer]
  const ownKeys = (await keysOf(victim)).join()
  const isLost = ({ name }: { name: string }) => ownKeys.includes(`key-${name}`)
  await victim.kill()
  const to = micros()
  await victim.restart()
  await fleet.ended
  expect(limits.some(isLost) && !limits.every(isLost), `keys of the victim: ${ownKeys}`).toBe(true)
  for (const [index, limit] of limits.entries()) {
    const admitted = fleet.admissions(index)
    const counted = isLost(limit) ? without(admitted, { from: 0, to }) : admitted
    expect(excessOf(limit, counted), limit.name).toBe(0)
    expect(admitted.length, limit.name).toBeGreaterThanOrEqual(LIMIT / 2)
  }
  expect(fleet.byLease()).toBeGreaterThan(0)
})

/** The keys of limits on a server. */
async function keysOf(server: RedisServer): Promise<string[]> {
  return ((await server.cli("KEYS", "*key-*")) as string[]).map(String)
}

/** The key of the only limit in a Cluster. */
function keyOf(nodes: readonly RedisServer[]): Promise<string> {
  return eventually(async () => {
    for (const node of nodes) {
      const [key] = await keysOf(node)
      if (key !== undefined) return key
    }
    return undefined
  })
}
