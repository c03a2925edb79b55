import { describe, expect, it } from "vitest"
import { busiestWindow, decideAlike, type Outcome, simulate } from "./simulate.js"
import {
  arrivalsOf,
  ceilingOf,
  drawnBetween,
  SHAPES,
  SLOTS,
  shapeOf,
  spanOf,
  type Terms,
  WINDOWS,
} from "./traffic.js"
import { codeOf, VARIANTS } from "./variants.js"

const terms: Terms = { limit: 10, windowSeconds: 10 }

function outcomeOf(id: string, counts: readonly number[], under: Terms = terms): Outcome {
  const variant = VARIANTS.find((one) => one.id === id)
  if (variant === undefined) throw new Error(`no variant ${id}`)
  return simulate(variant, under, arrivalsOf(counts, spanOf(under)))
}

const sum = (counts: readonly number[]) => counts.reduce((total, count) => total + count, 0)

/** Every shape with every window, and with low and high limits. */
const cases = SHAPES.flatMap((shape) =>
  WINDOWS.flatMap((windowSeconds) => [1, 7, 40].map((limit) => ({ shape, limit, windowSeconds }))),
)

describe("the boundary shape", () => {
  const counts = shapeOf("boundary", terms)

  it("gets twice the limit through a fixed window within a second", () => {
    expect(counts.slice(18, 22)).toEqual([0, 10, 10, 0])
    const { busiest, admitted, asked } = outcomeOf("fixed-window", counts)
    expect(busiest.total).toBe(20)
    expect(admitted).toBe(asked)
    expect(outcomeOf("fixed-window", counts).inWindow).toContain(20)
  })

  it("gets no more than the limit through the exact log", () => {
    const { busiest, denied } = outcomeOf("sliding-window-log", counts)
    expect(busiest.total).toBe(10)
    expect(sum(denied)).toBe(sum(counts) / 2)
  })

  it("has its bursts on both sides of a boundary of every window", () => {
    for (const windowSeconds of WINDOWS) {
      const under = { limit: 6, windowSeconds }
      const { busiest } = outcomeOf("fixed-window", shapeOf("boundary", under), under)
      expect([windowSeconds, busiest.total]).toEqual([windowSeconds, 12])
    }
  })
})

describe("every shape, under every window and limit", () => {
  it("sends requests, and at most as many per slot as can be drawn", () => {
    for (const { shape, ...under } of cases) {
      const counts = shapeOf(shape, under)
      expect(counts).toHaveLength(SLOTS)
      expect([shape, under, sum(counts) > under.limit]).toEqual([shape, under, true])
      expect(Math.max(...counts)).toBeLessThanOrEqual(ceilingOf(under))
      expect(counts.every((count) => Number.isInteger(count) && count >= 0)).toBe(true)
    }
  })

  it("allows or denies every request", () => {
    for (const { shape, ...under } of cases) {
      const arrivals = arrivalsOf(shapeOf(shape, under), spanOf(under))
      for (const variant of VARIANTS) {
        const { asked, admitted, denied } = simulate(variant, under, arrivals)
        expect(asked).toBe(arrivals.length)
        expect(admitted + sum(denied)).toBe(asked)
      }
    }
  })

  it("never gets more than the limit through the exact log in any window", () => {
    for (const { shape, ...under } of cases) {
      const { busiest, inWindow } = outcomeOf("sliding-window-log", shapeOf(shape, under), under)
      expect(busiest.total).toBeLessThanOrEqual(under.limit)
      expect(Math.max(...inWindow)).toBe(busiest.total)
    }
  })

  it("has the same decisions of token-bucket, leaky-bucket and gcra", () => {
    for (const { shape, ...under } of cases) {
      const counts = shapeOf(shape, under)
      const bucket = outcomeOf("token-bucket", counts, under)
      for (const id of ["leaky-bucket", "gcra"])
        expect(decideAlike(bucket, outcomeOf(id, counts, under))).toBe(true)
    }
  })
})

it("tells apart algorithms that decide differently", () => {
  const counts = shapeOf("boundary", terms)
  expect(decideAlike(outcomeOf("fixed-window", counts), outcomeOf("sliding-window-log", counts))).toBe(false)
})

it("shows queued requests when they proceed, not when they arrive", () => {
  const counts = new Array<number>(SLOTS).fill(0)
  counts[0] = 5
  const { passed, denied, longestDelayMs } = outcomeOf("leaky-bucket-overflow-queue", counts)
  // The queue lets one request proceed each second, so the fifth proceeds about four seconds after the first.
  expect([passed[0], passed[2], passed[4], passed[6], passed[8]]).toEqual([1, 1, 1, 1, 1])
  expect(sum(denied)).toBe(0)
  expect(longestDelayMs).toBeGreaterThan(3_500)
})

it("shows what remains: nothing right after a full burst, all of it a window later", () => {
  const counts = new Array<number>(SLOTS).fill(0)
  counts[3] = 10
  const { remaining } = outcomeOf("sliding-window-log", counts)
  expect([remaining[2], remaining[3], remaining[23]]).toEqual([10, 0, 10])
})

it("finds the busiest window wherever it starts", () => {
  expect(busiestWindow([0, 9, 10, 11, 18.9, 30], 10)).toEqual({ from: 9, total: 4 })
  expect(busiestWindow([], 10)).toEqual({ from: 0, total: 0 })
})

it("draws a line between two positions of the pointer, and nothing outside", () => {
  const flat = new Array<number>(SLOTS).fill(0)
  expect(drawnBetween(flat, { slot: 2, count: 0 }, { slot: 5, count: 6 }).slice(0, 7)).toEqual([
    0, 0, 0, 2, 4, 6, 0,
  ])
  expect(drawnBetween(flat, { slot: 5, count: 6 }, { slot: 4, count: 6 }).slice(3, 7)).toEqual([0, 6, 6, 0])
  expect(drawnBetween(flat, { slot: -3, count: 1 }, { slot: 0, count: 1 })).toHaveLength(SLOTS)
})

it("writes the code that creates the limiter", () => {
  const last = VARIANTS.find(({ id }) => id === "leaky-bucket-overflow-queue")
  expect(last && codeOf(last, terms)).toBe(
    'createLimiter({ algorithm: "leaky-bucket", overflow: "queue", limit: 10, window: "10s" })',
  )
})
