import { memoryStore } from "sluice"
import { createRuleEngine, parseRuleSet } from "sluice/rules"
import { ManualClock } from "sluice/testing"
import { expect, it } from "vitest"
import { AccuracyMonitor } from "./accuracy.js"

const MINUTE = 60_000

/** An engine and a monitor on one clock that starts with a window. */
function watching(limit: string, keys = 10) {
  const rules = parseRuleSet(`version: 1\nrules:\n  - { id: api, limits: [${limit}] }\n`)
  const start = Date.UTC(2026, 0, 1)
  const clock = new ManualClock(start)
  const engine = createRuleEngine({ rules, clock })
  const monitor = new AccuracyMonitor({ keys, now: () => clock.now() })
  monitor.follow(rules)
  const ask = (client: string) => {
    const decision = engine.checkSync({ ip: client })
    monitor.decided(decision)
    return decision.allowed
  }
  return {
    monitor,
    ask,
    /** Asks once at each of these times after the start. */
    play: (times: readonly number[], client = "203.0.113.1") =>
      times.map((time) => {
        clock.set(start + time)
        return ask(client)
      }),
    /** Asks until the key of this client is in the sample, and forgets what was found by then. */
    pick(client = "203.0.113.1") {
      const before = monitor.watching
      for (let i = 0; i < 16 && monitor.watching === before; i++) ask(client)
      monitor.take()
    },
  }
}

const COUNTER = "{ limit: 10, window: 1m, algorithm: sliding-window-counter }"
const burst = (from: number) => Array.from({ length: 10 }, (_, i) => from + i)

it("finds that an estimate denies what the exact log would have allowed", () => {
  const { play, pick, monitor } = watching(COUNTER)
  pick()
  // Ten at the start of a minute. 61 s later all of them are gone, but the estimate still counts 98 % of them.
  const decisions = play([...burst(3 * MINUTE), 4 * MINUTE + 1_000, 4 * MINUTE + 1_001])
  expect(decisions.slice(-2)).toEqual([true, false])
  const { compared, error, ...differing } = monitor.take()
  expect(differing).toEqual({ allowedTooMany: 0, deniedTooMany: 1 })
  expect(compared).toBe(12)
  expect(error / compared).toBeGreaterThan(0.1)
})

it("finds that an estimate allows what the exact log would have denied", () => {
  const { play, pick, monitor } = watching(COUNTER)
  pick()
  // Ten at the end of a minute. 30 s into the next one the estimate counts half of them, and they are all still there.
  play([...burst(4 * MINUTE - 1_000), 4 * MINUTE + 30_000])
  expect(monitor.take()).toMatchObject({ compared: 11, allowedTooMany: 1, deniedTooMany: 0 })
})

it("finds no difference on traffic far from the limit", () => {
  const { play, pick, monitor } = watching(COUNTER)
  pick()
  play(Array.from({ length: 60 }, (_, i) => i * 10_000))
  expect(monitor.take()).toMatchObject({ compared: 48, allowedTooMany: 0, deniedTooMany: 0 })
})

it("finds no difference where the estimate and the exact log agree, whatever other instances admit", () => {
  const rules = parseRuleSet("version: 1\nrules:\n  - { id: api, limits: [{ limit: 20, window: 1m }] }\n")
  const clock = new ManualClock()
  const store = memoryStore({ clock })
  const instances = [0, 1].map(() => {
    const monitor = new AccuracyMonitor({ keys: 10, now: () => clock.now() })
    monitor.follow(rules)
    return { engine: createRuleEngine({ rules, store }), monitor }
  })
  // The two instances get turns. Each of them sees half of what the store counts, and the limit is reached.
  let denied = 0
  for (let i = 0; i < 600; i++) {
    const { engine, monitor } = instances[i % 2] as (typeof instances)[0]
    const decision = engine.checkSync({ ip: "203.0.113.1" })
    if (!decision.allowed) denied++
    monitor.decided(decision)
    clock.advance(1_000)
  }
  expect(denied).toBeGreaterThan(300)
  for (const { monitor } of instances) {
    const { compared, error, ...differing } = monitor.take()
    expect(differing).toEqual({ allowedTooMany: 0, deniedTooMany: 0 })
    expect(compared).toBeGreaterThan(50)
    expect(error / compared).toBeLessThan(0.1)
  }
})

it.each([1, 2, 6])("estimates like the limiter itself, with %i bucket(s)", (buckets) => {
  const limit = `{ limit: 10, window: 1m, buckets: ${buckets}, algorithm: sliding-window-counter }`
  const { play, pick, monitor } = watching(limit)
  pick()
  const times = Array.from({ length: 300 }, (_, i) => 3 * MINUTE + i * 1_370 + ((i * i * 7_919) % 1_300))
  const exact: number[] = []
  let differing = 0
  for (const [i, allowed] of play(times).entries()) {
    const now = times[i] as number
    const used = exact.filter((time) => now - time < MINUTE).length
    if (allowed !== used < 10) differing++
    if (allowed) exact.push(now)
  }
  const { allowedTooMany, deniedTooMany, compared } = monitor.take()
  expect(compared).toBe(300)
  expect(allowedTooMany + deniedTooMany).toBe(differing)
})

it("compares a key only after it was watched for as long as its estimate looks back", () => {
  const { play, pick, monitor } = watching(COUNTER)
  pick()
  play([1, MINUTE, 2 * MINUTE - 1])
  expect(monitor.take().compared).toBe(0)
  play([2 * MINUTE])
  expect(monitor.take().compared).toBe(1)
})

it.each([
  ["exact algorithms", "{ limit: 10, window: 1m, algorithm: sliding-window-log }", 10],
  ["windows of more than an hour", "{ limit: 10, window: 1d }", 10],
  ["everything when it may watch no key", COUNTER, 0],
])("does not compare %s", (_name, limit, keys) => {
  const { play, monitor } = watching(limit, keys)
  play(Array.from({ length: 60 }, (_, i) => i * 10_000))
  expect(monitor.watching).toBe(0)
  expect(monitor.take().compared).toBe(0)
})

it("watches a limited number of keys, and replaces those whose time is over", () => {
  const { pick, play, monitor } = watching("{ limit: 10, window: 1s }", 3)
  for (let client = 1; client <= 9; client++) pick(`203.0.113.${client}`)
  expect(monitor.watching).toBe(3)
  play([20_000], "203.0.113.99")
  pick("203.0.113.10")
  expect(monitor.watching).toBe(3)
  play([23_000, 23_001], "203.0.113.10")
  expect(monitor.take().compared).toBe(2)
})
