// What a fleet lets through together while the store is away: the bounds that docs promise.

import { describe, expect, it } from "vitest"
import { compilePolicy, type LimitOptions } from "../../policy.js"
import { variants } from "../../testing/contract/policies.js"
import { ManualClock } from "../../testing/manual-clock.js"
import { memoryStore } from "../memory/memory-store.js"
import { Namespace } from "../store.js"
import { FlakyStore } from "./flaky-store.test-support.js"
import { StoreFailure } from "./store-failure.js"
import { StoreGuard } from "./store-guard.js"

const INSTANCES = 4
const WINDOW_MS = 60_000
const away = new StoreFailure("connection", "connection refused")

/** A small generator, so that a failure can be run again. */
function randomFrom(seed: number): () => number {
  let state = seed * 2_654_435_761
  return () => {
    state = (Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + 0x9e3779b9) | 0
    return (state >>> 0) / 2 ** 32
  }
}

/** Four instances with a guard each, one shared store, one key under one limit. */
class Fleet {
  readonly clock = new ManualClock()
  readonly #shared = memoryStore({ clock: this.clock })
  readonly #links = Array.from({ length: INSTANCES }, () => new FlakyStore(this.#shared, INSTANCES))
  readonly #guards = this.#links.map((link) => new StoreGuard(link, { clock: this.clock }))
  readonly #charge
  /** Admitted units by window. */
  readonly admitted: number[] = []
  readonly #start = this.clock.now()

  constructor(limit: LimitOptions) {
    const policy = compilePolicy(limit, "test")
    this.#charge = { namespace: new Namespace("fleet"), key: "key", policy, cost: 1 }
  }

  set away(isAway: boolean) {
    for (const link of this.#links) link.failure = isAway ? away : undefined
  }

  /** Everybody asks as often as they like: far more than the limit, in a random order. */
  async hammer(ms: number, random: () => number): Promise<void> {
    const end = this.clock.now() + ms
    while (this.clock.now() < end) {
      const guard = this.#guards[Math.floor(random() * INSTANCES)] as StoreGuard
      const { allowed } = await guard.check([this.#charge])
      const window = Math.floor((this.clock.now() - this.#start) / WINDOW_MS)
      this.admitted[window] = (this.admitted[window] ?? 0) + (allowed ? 1 : 0)
      this.clock.set(Math.min(end, this.clock.now() + random() * 500))
    }
  }

  async close(): Promise<void> {
    for (const guard of this.#guards) await guard.close()
  }
}

/** The contract's variants, and the limits that do not divide well. */
const limits = [
  ...variants,
  ...variants.map(({ title, limit }) => ({
    title: `${title}, limit 1`,
    limit: {
      ...limit,
      limit: 1,
      ...("burst" in limit && { burst: 1 }),
      ...("maxBurst" in limit && { maxBurst: 0 }),
    },
  })),
  ...variants
    .filter(({ limit }) => limit.burst === undefined && limit.maxBurst === undefined)
    .map(({ title, limit }) => ({ title: `${title}, limit 97`, limit: { ...limit, limit: 97 } })),
]

describe.each(limits)("$title by four instances", ({ limit }) => {
  const burst = Math.max(limit.limit, limit.burst ?? 0)
  /** Where the share of one unit for each is already more than twice the limit, that share is the bound. */
  const whenItGoes = Math.max(2 * burst, burst + INSTANCES)
  /** An idle bucket, here the shared one, allows its burst on top of its rate. */
  const drains = ["token-bucket", "leaky-bucket", "gcra"].includes(limit.algorithm as string)
  const whenItReturns = drains ? whenItGoes + INSTANCES : whenItGoes

  it.each([1, 2, 3])("never exceeds its bounds when the store fails and recovers (seed %d)", async (seed) => {
    const random = randomFrom(seed)
    const fleet = new Fleet(limit)
    await fleet.hammer((1 + random()) * WINDOW_MS, random)
    fleet.away = true
    const goesIn = fleet.admitted.length - 1
    await fleet.hammer((3 + random()) * WINDOW_MS, random)
    fleet.away = false
    const returnsIn = fleet.admitted.length - 1
    await fleet.hammer(2 * WINDOW_MS, random)
    expect(fleet.admitted[goesIn]).toBeLessThanOrEqual(whenItGoes)
    for (let window = goesIn + 1; window < returnsIn; window++) {
      expect(fleet.admitted[window]).toBeLessThanOrEqual(limit.limit + INSTANCES)
      expect(fleet.admitted[window]).toBeGreaterThan(0)
    }
    expect(fleet.admitted[returnsIn]).toBeLessThanOrEqual(whenItReturns)
    await fleet.close()
  })

  it("stays within them when the store fails and recovers all the time", async () => {
    const random = randomFrom(7)
    const fleet = new Fleet(limit)
    await fleet.hammer(WINDOW_MS, random)
    for (let i = 0; i < 100; i++) {
      fleet.away = i % 2 === 0
      await fleet.hammer(random() * 4_000, random)
    }
    for (const admitted of fleet.admitted.slice(1)) expect(admitted).toBeLessThanOrEqual(whenItReturns)
    await fleet.close()
  })
})

it("an idle key's first window without the store is its burst and its rate at most", async () => {
  const fleet = new Fleet({ algorithm: "token-bucket", limit: 100, window: "1m" })
  fleet.away = true
  await fleet.hammer(WINDOW_MS, randomFrom(1))
  expect(fleet.admitted[0]).toBeLessThanOrEqual(200 + INSTANCES)
  await fleet.close()
})
