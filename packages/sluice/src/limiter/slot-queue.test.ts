import { describe, expect, it } from "vitest"
import { memoryStore } from "../stores/memory/memory-store.js"
import { ManualClock } from "../testing/manual-clock.js"
import { createLimiter } from "./limiter.js"
import { SlotQueue } from "./slot-queue.js"

/** A generator that returns the same numbers for the same seed. */
function randomOf(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}

/** Lets all pending promises settle. */
const settle = () => new Promise<void>((resolve) => setImmediate(resolve))

const QUEUE = { algorithm: "leaky-bucket", overflow: "queue", limit: 10, window: "1s", burst: 20 } as const
const SEED = Number(process.env.SLUICE_SEED ?? Math.floor(Math.random() * 2 ** 31))

/** Clients come and give up at random. Returns when those who stayed were allowed, and in which order. */
async function run(
  seed: number,
  ask: (clock: ManualClock, signal: AbortSignal) => Promise<unknown>,
  clock: ManualClock,
): Promise<{ left: number[]; order: number[] }> {
  const random = randomOf(seed)
  const left: number[] = []
  const order: number[] = []
  const waiting = new Map<number, AbortController>()
  for (let step = 0, come = 0; step < 300; step++) {
    const isComing = random() < 0.6
    if (isComing) {
      const id = come++
      const leaving = new AbortController()
      waiting.set(id, leaving)
      ask(clock, leaving.signal).then(
        (isThrough) => {
          if (!waiting.delete(id) || isThrough !== true) return
          left.push(clock.now())
          order.push(id)
        },
        () => waiting.delete(id),
      )
    } else if (waiting.size > 0) {
      const ids = [...waiting.keys()]
      const id = ids[Math.floor(random() * ids.length)] as number
      waiting.get(id)?.abort()
      waiting.delete(id)
    }
    await settle()
    // By single milliseconds, so that it is known when each of them left.
    for (let ms = random() < 0.6 ? Math.floor(random() * 120) : 0; ms > 0; ms--) {
      clock.advance(1)
      await settle()
    }
  }
  for (const leaving of waiting.values()) leaving.abort()
  await settle()
  return { left, order }
}

/** The most that left within any one second. */
function mostInWindow(times: readonly number[]): number {
  return Math.max(
    0,
    ...times.map((from) => times.filter((time) => time >= from && time < from + 1_000).length),
  )
}

describe("a queueing bucket whose clients disconnect", () => {
  it(`lets no more requests leave in a window than its limit, and none before an earlier one (SLUICE_SEED=${SEED})`, async () => {
    for (let round = 0; round < 4; round++) {
      const clock = new ManualClock()
      const limiter = createLimiter({ ...QUEUE, clock, store: memoryStore({ clock }) })
      const ask = async (_clock: ManualClock, signal: AbortSignal) =>
        (await limiter.wait("me", { signal, maxWaitMs: 5_000 })).allowed
      const { left, order } = await run(SEED + round, ask, clock)
      expect(left.length).toBeGreaterThan(20)
      expect(mostInWindow(left), `round ${round}`).toBeLessThanOrEqual(10)
      expect(order, `round ${round}`).toEqual([...order].sort((a, b) => a - b))
      await limiter.close()
    }
  })
})

describe("a queue of slots", () => {
  it("gives the next slot to the first in the queue, whichever timer fires first", async () => {
    const clock = new ManualClock()
    const queue = new SlotQueue(clock)
    const order: string[] = []
    const wait = (name: string, ms: number) =>
      void queue.wait("line", ms, undefined).then(() => order.push(name))
    wait("first", 20)
    wait("second", 10)
    clock.advance(10)
    await settle()
    expect(order).toEqual(["first"])
    clock.advance(10)
    await settle()
    expect(order).toEqual(["first", "second"])
  })

  it("moves later requests up when one leaves, and does not change other queues", async () => {
    const clock = new ManualClock()
    const queue = new SlotQueue(clock)
    const times: Record<string, number> = {}
    const begun = clock.now()
    const leaving = new AbortController()
    const wait = (line: string, name: string, ms: number, signal?: AbortSignal) =>
      void queue.wait(line, ms, signal).then((isDue) => {
        times[name] = isDue ? clock.now() - begun : -1
      })
    wait("a", "a1", 100)
    wait("a", "a2", 200, leaving.signal)
    wait("a", "a3", 300)
    wait("a", "a4", 400)
    wait("b", "b1", 350)
    leaving.abort()
    expect(clock.pending).toBe(4)
    for (let i = 0; i < 8; i++) {
      clock.advance(50)
      await settle()
    }
    expect(times).toEqual({ a1: 100, a2: -1, a3: 200, a4: 300, b1: 350 })
    expect(clock.pending).toBe(0)
  })
})
