// How much of a limit a fleet with leases uses, on a virtual clock: what a benchmark would show on a machine that does nothing else.

import type { LimitOptions } from "sluice"
import { expect, it } from "vitest"
import { compilePolicy } from "../../packages/sluice/src/policy.js"
import { MemoryStore } from "../../packages/sluice/src/stores/memory/memory-store.js"
import { Namespace } from "../../packages/sluice/src/stores/store.js"
import { Instance } from "./instance.js"
import { Dice, World } from "./world.js"

const INSTANCES = 8
const RATE = 4_000
const MICROS = 3_000_000
const WEATHER = { delay: 300, slow: 2_000, slowChance: 0.02, loss: 0 }

const demands = {
  even: Array.from({ length: INSTANCES }, () => 1 / INSTANCES),
  skewed: [0.9, ...Array.from({ length: INSTANCES - 1 }, () => 0.1 / (INSTANCES - 1))],
}
const limits: readonly LimitOptions[] = [
  { algorithm: "token-bucket", limit: RATE, window: "1s", burst: RATE },
  { algorithm: "sliding-window-log", limit: RATE, window: "1s" },
  { algorithm: "sliding-window-counter", limit: RATE, window: "1s" },
  { algorithm: "fixed-window", limit: RATE, window: "1s" },
]

/** How many units a fleet with twice the demand of a limit admits, and how many of them leases paid. */
async function admitted(limit: LimitOptions, shares: readonly number[], leases: boolean) {
  const dice = new Dice(1)
  const world = new World(Date.UTC(2026, 0, 1) * 1_000)
  const server = new MemoryStore({ clock: { now: () => world.now / 1_000 } })
  const policy = compilePolicy(limit, "", leases)
  const charges = [{ namespace: new Namespace("use"), key: "shared", policy, cost: 1 }]
  const fleet = shares.map(() => new Instance(world, dice, server, WEATHER))
  let units = 0
  fleet.forEach((instance, i) => {
    instance.instances = INSTANCES
    const perMicro = (2 * RATE * (shares[i] as number)) / 1e6
    const started = world.now
    let checks = 0
    const ask = () => {
      for (const due = (world.now - started) * perMicro; checks < due; checks++) {
        void (leases ? instance.leases : instance).check(charges).then(({ allowed }) => {
          if (allowed) units++
        })
      }
      // A timer of 1 ms fires a little late.
      instance.plan(1_000 + dice.between(0, 200), ask)
    }
    ask()
  })
  await world.runUntil(world.now + MICROS)
  const byLease = fleet.reduce((sum, { leases }) => sum + leases.stats.spent, 0)
  for (const instance of fleet) instance.crash()
  await server.close()
  return { units, byLease }
}

const cases = limits.flatMap((limit) => {
  return (["even", "skewed"] as const).map((demand) => [limit.algorithm, demand, limit] as const)
})

it.each(cases)(
  "%s: a fleet with %s demand admits 97 % of what plain checks admit",
  async (_, demand, limit) => {
    const plain = await admitted(limit, demands[demand], false)
    const leased = await admitted(limit, demands[demand], true)
    expect(leased.byLease).toBeGreaterThan(leased.units / 10)
    expect(leased.units / plain.units).toBeGreaterThan(0.97)
  },
)
