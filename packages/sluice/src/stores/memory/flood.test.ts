// Two million distinct keys through a store that may hold 100,000 (`npm run bench:memory` does it with ten million).

import { expect, it } from "vitest"
import { createLimiter } from "../../limiter/limiter.js"
import { ManualClock } from "../../testing/manual-clock.js"
import { memoryStore } from "./memory-store.js"

const MAX_KEYS = 100_000
const FLOOD = 1_000_000
/** Clients that are being limited during the flood, and how many units each may have. */
const SAMPLED = 1_000

it("a million distinct keys stay within the cap in memory, and limited clients stay limited", async () => {
  const clock = new ManualClock()
  const store = memoryStore({ maxKeys: MAX_KEYS, clock })
  const limiter = createLimiter({ store, clock, algorithm: "token-bucket", limit: 10, window: "1h" })
  // Under its own prefix, so that the flood goes through a limiter without blocks.
  const blocking = createLimiter({ store, clock, prefix: "blocking", limit: 10, window: "1h" })
  await blocking.block("blocked", "1h")
  for (let i = 0; i < SAMPLED; i++) limiter.checkSync(`sampled ${i}`, { cost: 6 + (i % 5) })

  const bytes: number[] = []
  const times: number[] = []
  let start = process.cpuUsage()
  for (let i = 0; i < FLOOD; i++) {
    if (!limiter.checkSync(`flood ${i}`).allowed) expect.fail(`flood ${i} was denied`)
    if (i % 100_000 === 99_999) {
      expect(store.stats.keys).toBeLessThanOrEqual(MAX_KEYS)
      bytes.push(store.stats.bytes)
      const { user, system } = process.cpuUsage(start)
      times.push((user + system) / 1000)
      start = process.cpuUsage()
    }
  }
  // The first 100,000 fill the store; from there on nothing grows.
  expect(new Set(bytes.slice(2)).size, `bytes: ${bytes.join(", ")}`).toBe(1)
  expect(bytes.at(-1)).toBeLessThanOrEqual(MAX_KEYS * 48 * 1.1)
  // Nor gets slower: pushing keys out must not make the rest cluster. By processor time and the quickest of five, since others
  // use the machine.
  const [early, late] = [Math.min(...times.slice(1, 6)), Math.min(...times.slice(-5))]
  expect(late, `100,000 each in ${times.map(Math.round).join(", ")} ms`).toBeLessThan(2 * early)
  expect(store.stats).toMatchObject({ keys: MAX_KEYS, refused: 0, evicted: FLOOD + SAMPLED + 1 - MAX_KEYS })

  for (let i = 0; i < SAMPLED; i++) {
    const left = 4 - (i % 5)
    expect(limiter.checkSync(`sampled ${i}`, { cost: left + 1 }).allowed).toBe(false)
    expect(limiter.checkSync(`sampled ${i}`, { cost: left }).remaining).toBe(0)
  }
  expect(blocking.checkSync("blocked").deniedBy).toBe("block")
}, 120_000)

it("a store full of limited clients refuses twice as many new ones, and forgets none", () => {
  const clock = new ManualClock()
  const keys = 30_000
  const store = memoryStore({ maxKeys: keys, clock })
  const limiter = createLimiter({ store, clock, limit: 10, window: "1h" })
  for (let i = 0; i < keys; i++) limiter.checkSync(`limited ${i}`, { cost: 10 })
  for (let i = 0; i < 2 * keys; i++) limiter.checkSync(`flood ${i}`)
  expect(store.stats).toMatchObject({ keys, evicted: 0, refused: 2 * keys })
  for (let i = 0; i < keys; i++) {
    if (limiter.checkSync(`limited ${i}`).allowed) expect.fail(`limited ${i} was let through`)
  }
}, 120_000)
