// One schedule: a fleet, its traffic and its faults, all decided by a seed.

import type { Charge, LimitOptions } from "sluice"
import type { Policy } from "../../packages/sluice/src/algorithms/algorithm.js"
import { compilePolicy } from "../../packages/sluice/src/policy.js"
import { MemoryStore } from "../../packages/sluice/src/stores/memory/memory-store.js"
import { Namespace } from "../../packages/sluice/src/stores/store.js"
import { Instance, type Weather } from "./instance.js"
import { type Admission, excess } from "./promises.js"
import { Dice, World } from "./world.js"

/** `plain`: leases without the smaller burst and the longer window that make them safe. */
export type Form = "leased" | "plain"

export const kinds = [
  "token-bucket",
  "gcra",
  "leaky-bucket",
  "sliding-window-log",
  "sliding-window-counter",
  "sliding-window-counter in buckets",
  "fixed-window",
  "fixed-window from the first request",
] as const
export type Kind = (typeof kinds)[number]

export interface Result {
  /** The worst excess over the promise of any limit, in units; 0 if all promises were kept. */
  readonly excess: number
  readonly admitted: number
  /** Of those, by a lease. */
  readonly byLease: number
  readonly returned: number
}

const WINDOW = 1_000_000
const START = Date.UTC(2026, 0, 1) * 1_000
const GUARD = 100_000

interface Limit {
  readonly policy: Policy
  readonly namespace: Namespace
  readonly key: string
}

/** Runs a schedule with as many limits as `among` has lists of kinds, each of one of its kinds. */
export async function runSchedule(
  seed: number,
  among: readonly (readonly Kind[])[],
  form: Form,
): Promise<Result> {
  const dice = new Dice(seed)
  const world = new World(START + dice.between(0, WINDOW))
  const server = new MemoryStore({ clock: { now: () => world.now / 1_000 } })
  const limits = among.map((list, i): Limit => {
    const policy = drawPolicy(dice, dice.pick(list), form)
    return { policy, namespace: new Namespace(`limit${i}`), key: dice.chance(0.5) ? "a" : `key${i}` }
  })
  const length = Math.min(...limits.map(({ policy }) => policy.lease))
  const weather: Weather = {
    delay: dice.pick([100, 1_000, 4_000]),
    slow: dice.pick([20_000, length, 2 * length]),
    slowChance: dice.pick([0, 0.05, 0.3]),
    loss: dice.pick([0, 0, 0.05]),
  }
  const known = dice.pick([1, 1, 3])
  const join = () => {
    const instance = new Instance(world, dice, server, weather)
    instance.instances = known
    return instance
  }
  const fleet = Array.from({ length: dice.between(2, 3) }, join)
  const everybody = [...fleet.keys()]

  const admitted: { at: number; cost: number }[] = []
  let byLease = 0
  /** When the windows of each limit began, as the store told it. */
  const windows: Set<number>[] = limits.map(() => new Set())
  const checkSync = server.checkSync.bind(server)
  server.checkSync = (asked, at) => {
    const outcome = checkSync(asked, at)
    outcome.verdicts.forEach((verdict, i) => {
      if (outcome.allowed)
        windows[i]?.add(outcome.now + verdict.resetAfter - (limits[i] as Limit).policy.window)
    })
    return outcome
  }

  /** Lets an instance check `count` times at a time. */
  const burst = (index: number, after: number, count: number, cost: number) => {
    const charges = limits.map(({ policy, namespace, key }): Charge => ({ namespace, key, policy, cost }))
    world.plan(world.now + after, () => {
      const instance = fleet[index] as Instance
      instance.plan(0, () => {
        for (let i = 0; i < count; i++) {
          instance.leases.check(charges).then(
            (outcome) => {
              if (!outcome.allowed) return
              const isLease = outcome.source === "lease"
              if (isLease) byLease++
              // A decision of the store holds from when it was made. A lease is spent now.
              admitted.push({ at: isLease ? world.now : outcome.now, cost })
            },
            () => {},
          )
        }
      })
    })
  }

  /** Lets an instance ask for all that can be left. */
  const flood = (index: number, after: number) => {
    burst(index, after, Math.ceil(100 / 5 / everybody.length), 5)
    burst(index, after, 5, 1)
  }

  let at = 0
  for (let phase = dice.between(1, 3); phase > 0; phase--) {
    if (dice.chance(0.5)) {
      // Somebody takes a lease of a key that was idle, and spends it when it is old, while everybody asks for all that is left;
      // and everybody asks again when the store has forgotten the lease.
      at += dice.chance(0.5) ? 2 * WINDOW : dice.between(0, WINDOW)
      const taken = at
      const takers = dice.chance(0.7) ? [dice.pick(everybody)] : everybody
      const pause = dice.between(500, 4_000)
      for (const index of takers)
        for (let i = dice.between(4, 6); i > 0; i--) burst(index, at + i * pause, 1, 1)
      at += Math.floor(length * (0.8 + 0.2 * dice.fraction()))
      for (const index of everybody) flood(index, at)
      if (dice.chance(0.7)) {
        at = taken + WINDOW + dice.between(0, length)
        for (const index of everybody) flood(index, at)
      }
    } else {
      for (let i = dice.between(2, 5); i > 0; i--) {
        at += gap(dice, length)
        burst(dice.pick(everybody), at, dice.between(1, 6), dice.between(1, 6))
      }
    }
    if (dice.chance(0.4)) {
      const index = dice.pick(everybody)
      const fault = dice.pick(["crash", "pause", "cut", "leave"] as const)
      const duration = dice.between(1, 3 * length)
      world.plan(world.now + Math.max(at - dice.between(0, 2 * length), 0), () => {
        const instance = fleet[index] as Instance
        if (fault === "pause") instance.pause(duration)
        else if (fault === "cut") instance.cut(duration)
        else {
          if (fault === "leave") void instance.leases.close()
          else instance.crash()
          fleet[index] = join()
        }
      })
    }
  }
  await world.runUntil(world.now + at + 2 * length + GUARD)
  const returned = fleet.reduce((sum, instance) => sum + instance.leases.stats.returned, 0)
  admitted.sort((a, b) => a.at - b.at)
  const own = admitted.map(({ at, cost }): Admission => ({ at, units: cost }))
  const worst = limits.map(({ policy }, i) => {
    return excess(
      policy,
      own,
      [...(windows[i] as Set<number>)].sort((a, b) => a - b),
    )
  })
  for (const instance of fleet) instance.crash()
  await server.close()
  return { excess: Math.max(...worst), admitted: admitted.length, byLease, returned }
}

/** Mostly short, sometimes just what makes a lease old, sometimes long enough for a window to pass. */
function gap(dice: Dice, length: number): number {
  switch (dice.between(0, 5)) {
    case 0:
      return dice.between(0, 500)
    case 1:
      return dice.between(0, length >> 1)
    case 2:
      return Math.max(length - dice.between(0, length >> 3), 0)
    case 3:
      return length + dice.between(0, 1_000)
    case 4:
      return dice.between(0, 3_000)
    default:
      return dice.between(0, WINDOW >> 2)
  }
}

function drawPolicy(dice: Dice, kind: Kind, form: Form): Policy {
  const limit = dice.between(50, 100)
  const burst = dice.chance(0.7) ? limit : dice.between(40, 100)
  const lengths: Record<Kind, number> = {
    "token-bucket": tenth(burst, limit),
    gcra: tenth(burst, limit),
    "leaky-bucket": tenth(burst, limit),
    "sliding-window-log": Math.floor(WINDOW / 9),
    "sliding-window-counter": WINDOW >> 2,
    "sliding-window-counter in buckets": WINDOW >> 3,
    "fixed-window": WINDOW >> 2,
    "fixed-window from the first request": WINDOW >> 2,
  }
  const length = Math.floor(lengths[kind] * dice.pick([0.5, 0.9, 1]))
  const options = optionsOf(kind, limit, burst)
  if (form === "leased") return compilePolicy(options, "", { length: length / 1_000 })
  return Object.freeze({ ...compilePolicy(options, ""), lease: length })
}

/** The longest lease that leaves 90 % of a burst. */
function tenth(burst: number, limit: number): number {
  return Math.floor((Math.floor(burst / 10) * WINDOW) / limit)
}

function optionsOf(kind: Kind, limit: number, burst: number): LimitOptions {
  const window = WINDOW / 1_000
  switch (kind) {
    case "gcra":
      return { algorithm: kind, limit, window, maxBurst: burst - 1 }
    case "token-bucket":
    case "leaky-bucket":
      return { algorithm: kind, limit, window, burst }
    case "sliding-window-counter in buckets":
      return { algorithm: "sliding-window-counter", limit, window, buckets: 5 }
    case "fixed-window from the first request":
      return { algorithm: "fixed-window", limit, window, anchor: "first-request" }
    default:
      return { algorithm: kind, limit, window }
  }
}
