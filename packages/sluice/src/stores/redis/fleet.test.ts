import { describe, expect, it } from "vitest"
import { compilePolicy } from "../../policy.js"
import { ManualClock } from "../../testing/manual-clock.js"
import { FlakyStore } from "../fallback/flaky-store.test-support.js"
import { StoreFailure } from "../fallback/store-failure.js"
import { StoreGuard } from "../fallback/store-guard.js"
import { memoryStore } from "../memory/memory-store.js"
import { Namespace } from "../store.js"
import { type CommandRunner, Fleet, FleetSize } from "./fleet.js"

const PERIOD = 3_000

describe("the size of a fleet", () => {
  it("rises with the first heartbeat that counts more", () => {
    const size = new FleetSize(PERIOD)
    size.counted(5, 0)
    expect(size.instances).toBe(5)
    size.counted(8, 1)
    expect(size.instances).toBe(8)
  })

  it("falls when it was seen low for a whole period, and not a moment sooner", () => {
    const size = new FleetSize(PERIOD)
    size.counted(8, 0)
    size.counted(3, 1_000)
    size.counted(3, 1_000 + PERIOD - 0.001)
    expect(size.instances).toBe(8)
    size.counted(3, 1_000 + PERIOD)
    expect(size.instances).toBe(3)
  })

  it("falls to the most that was counted in that period", () => {
    const size = new FleetSize(PERIOD)
    size.counted(8, 0)
    for (const [at, counted] of [1, 5, 4, 2].entries()) size.counted(counted, 1_000 + at * 1_000)
    expect(size.instances).toBe(5)
  })

  it("keeps the period to contact without a gap", () => {
    const size = new FleetSize(PERIOD)
    size.counted(8, 0)
    for (let at = 1_000; at < 20_000; at += 2_000) {
      size.counted(2, at)
      size.counted(3, at + 1_500)
      size.missed()
    }
    expect(size.instances).toBe(8)
  })
})

const INSTANCES = 8
const LIMIT = 100
const WINDOW_MS = 1_000
const EVERY_MS = 200
const away = new StoreFailure("connection", "connection refused")

/** What heartbeat.lua does, on the model's clock. */
class ModelRedis {
  isAway = false
  readonly clock = new ManualClock()
  readonly store = memoryStore({ clock: this.clock })
  readonly #seen = new Map<string, number>()

  async beat(args: readonly (string | Buffer)[]): Promise<[number, number]> {
    if (this.isAway) throw away
    const [id, patience] = [String(args[5]), Number(args[6])]
    this.#seen.set(id, this.clock.now())
    for (const [other, at] of this.#seen) if (at <= this.clock.now() - patience) this.#seen.delete(other)
    return [this.#seen.size, 0]
  }

  /** Killed and started empty. */
  forget(): void {
    this.#seen.clear()
  }
}

/** One process: its heartbeat, its way to the shared store, and what decides without it. */
class Instance {
  /** When it can reach a Redis that has returned: it connects again and probes after a while of its own. */
  reachesAt = 0
  readonly #redis: ModelRedis
  readonly #link: FlakyStore
  readonly fleet: Fleet
  readonly guard: StoreGuard

  constructor(redis: ModelRedis, random: () => number) {
    this.#redis = redis
    const runner: CommandRunner = { command: (_key, args) => this.#command(args) }
    this.fleet = new Fleet(runner, { intervalMs: EVERY_MS, prefix: "model", timers: redis.clock, random })
    this.#link = new FlakyStore(redis.store)
    const { fleet } = this
    Object.defineProperty(this.#link, "instances", { get: () => fleet.instances })
    this.guard = new StoreGuard(this.#link, { clock: redis.clock })
  }

  look(): void {
    this.#link.failure = this.#reaches ? undefined : away
  }

  get #reaches(): boolean {
    return !this.#redis.isAway && this.#redis.clock.now() >= this.reachesAt
  }

  async #command(args: readonly (string | Buffer)[]): Promise<unknown> {
    if (!this.#reaches) throw away
    return await this.#redis.beat(args)
  }
}

function randomFrom(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}

interface Phase {
  readonly ms: number
  readonly isAway: boolean
}

/** The most admitted in a window that lies wholly in an outage, a window after it began. */
async function worstOf(phases: readonly Phase[], isEmptied: boolean, seed: number) {
  const random = randomFrom(seed)
  const redis = new ModelRedis()
  const all = Array.from({ length: INSTANCES }, () => new Instance(redis, random))
  const policy = compilePolicy({ algorithm: "fixed-window", limit: LIMIT, window: WINDOW_MS }, "test")
  const charge = { namespace: new Namespace("model"), key: "key", policy, cost: 1 }
  let worst = 0
  let lowest = INSTANCES
  for (const instance of all) instance.fleet.start()
  for (const [index, { ms, isAway }] of phases.entries()) {
    if (redis.isAway && !isAway) {
      if (isEmptied) redis.forget()
      for (const instance of all) instance.reachesAt = redis.clock.now() + random() * 1_000
    }
    redis.isAway = isAway
    const startedAt = redis.clock.now()
    const admitted = new Map<number, number>()
    for (let step = 0; step < ms / 5; step++) {
      redis.clock.advance(5)
      for (const instance of all) {
        instance.look()
        const { allowed } = await instance.guard.check([charge])
        const window = Math.floor(redis.clock.now() / WINDOW_MS)
        if (allowed) admitted.set(window, (admitted.get(window) ?? 0) + 1)
      }
    }
    if (index > 0) lowest = Math.min(lowest, ...all.map(({ fleet }) => fleet.instances))
    if (!isAway) continue
    for (const [window, count] of admitted)
      if (window * WINDOW_MS >= startedAt + WINDOW_MS) worst = Math.max(worst, count)
  }
  for (const instance of all) await instance.guard.close()
  return { worst, lowest }
}

describe.each([
  ["frozen", false],
  ["killed and emptied", true],
])(`${INSTANCES} instances, Redis %s`, (_, isEmptied) => {
  const here = { ms: 1_000, isAway: false }
  const gone = { ms: 3_000, isAway: true }

  it.each([1, 2, 3])("admit no more in the second outage than in the first (seed %i)", async (seed) => {
    const { worst, lowest } = await worstOf([here, gone, { ...here, ms: 700 }, gone], isEmptied, seed)
    expect(lowest).toBe(INSTANCES)
    expect(worst).toBeLessThanOrEqual(LIMIT + INSTANCES)
    expect(worst).toBeGreaterThan(LIMIT / 2)
  })

  it("keep their number through six outages in a row", async () => {
    const phases = Array.from({ length: 6 }, () => [
      { ...here, ms: 500 },
      { ...gone, ms: 2_000 },
    ]).flat()
    const { worst, lowest } = await worstOf([here, ...phases], isEmptied, 4)
    expect(lowest).toBe(INSTANCES)
    expect(worst).toBeLessThanOrEqual(LIMIT + INSTANCES)
  })
})

it("an instance that is gone for good stops counting after the others have seen it gone for a period", async () => {
  const redis = new ModelRedis()
  const random = randomFrom(5)
  const all = Array.from({ length: 3 }, () => new Instance(redis, random))
  for (const { fleet } of all) fleet.start()
  const step = async (ms: number) => {
    for (let at = 0; at < ms; at += 10) {
      redis.clock.advance(10)
      await new Promise((resolve) => setImmediate(resolve))
    }
  }
  await step(500)
  expect(all.map(({ fleet }) => fleet.instances)).toEqual([3, 3, 3])
  ;(all[0] as Instance).reachesAt = Number.POSITIVE_INFINITY
  await step(1_000)
  expect(all[1]?.fleet.instances).toBe(3)
  await step(1_500)
  expect(all.map(({ fleet }) => fleet.instances)).toEqual([3, 2, 2])
})
