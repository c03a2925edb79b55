import { describe, expect, it } from "vitest"
import type { LimitOptions } from "../policy.js"
import { expectTrace, Player } from "./trace.test-support.js"

function leakyBucket(limit: number, burst = limit): LimitOptions {
  return { algorithm: "leaky-bucket", limit, window: "1s", burst }
}

function queue(limit: number, burst = limit): LimitOptions {
  return { ...leakyBucket(limit, burst), overflow: "queue" }
}

describe("leaky-bucket", () => {
  it("allows what fits as a whole, and says no delay", () => {
    expectTrace(
      leakyBucket(10, 5),
      `at       ask  answer  remaining  retry  reset    delay
       0        3    yes     2          0      300      0
       0        3    no      2          100    300      0
       99.999   3    no      2          0.001  200.001  0
       100      3    yes     0          0      500      0
       100.001  1    no      0          99.999 499.999  0
       100.001  6    no      0          never  499.999  0
       600      0    yes     5          0      0        0`,
    )
  })

  it("lets a limit of 1 pass once per window", () => {
    expectTrace(
      leakyBucket(1),
      `at       ask  answer  remaining  retry  reset  delay
       0        1    yes     0          0      1000   0
       999.999  1    no      0          0.001  0.001  0
       1000     1    yes     0          0      1000   0`,
    )
  })

  it("gives back at most what is in it", () => {
    expectTrace(
      leakyBucket(10, 5),
      `at  ask       answer  remaining  retry  reset
       0   5         yes     0          0      500
       50  refund=2  yes     2          0      250
       50  refund=9  yes     5          0      0`,
    )
  })
})

describe("leaky-bucket as a queue", () => {
  it("delays a request until the water in front of it has drained, and rejects when full", () => {
    expectTrace(
      queue(10, 5),
      `at   ask  answer  remaining  retry  reset  delay
       0    1    yes     4          0      100    0
       0    1    yes     3          0      200    100
       0    1    yes     2          0      300    200
       0    2    yes     0          0      500    300
       0    1    no      0          100    500    0
       100  1    yes     0          0      500    400
       250  0    yes     1          0      350    350
       450  1    yes     2          0      250    150
       700  1    yes     4          0      100    0`,
    )
  })

  it("frees the place of a client that goes away", () => {
    expectTrace(
      queue(10, 3),
      `at  ask       answer  remaining  retry  reset  delay
       0   1         yes     2          0      100    0
       0   1         yes     1          0      200    100
       0   1         yes     0          0      300    200
       0   1         no      0          100    300    0
       50  refund=1  yes     1          0      150    150
       50  1         yes     0          0      250    150`,
    )
  })

  it("releases seven at once a seventh of a second apart, each rounded up to a whole microsecond", () => {
    const player = new Player(queue(7))
    const delays = Array.from({ length: 7 }, () => player.check(0).delay)
    expect(delays).toEqual([0, 142_858, 285_715, 428_572, 571_429, 714_286, 857_143])
  })

  it("lets requests leave evenly spaced, however they arrive", () => {
    const player = new Player(queue(7, 20))
    let last = Number.NEGATIVE_INFINITY
    let released = 0
    for (let i = 0; i < 10_000; i++) {
      // Bursts and gaps: nothing for a while, then several in the same microsecond.
      const at = Math.floor(i / 5) * 600 + ((i * 7919) % 13) * 10
      const { allowed, delay } = player.check(at)
      if (!allowed) continue
      const leaves = Math.round(at * 1000 + delay)
      expect(leaves - last).toBeGreaterThanOrEqual(142_857)
      last = leaves
      released++
    }
    // 2,000 bursts 600 ms apart take 1,200 s, in which 8,400 leave, give or take what is in the queue.
    expect(Math.abs(released - 8_400)).toBeLessThanOrEqual(20)
  })

  it("counts the delay from the caller's clock when that is behind", () => {
    expectTrace(
      queue(10, 5),
      `at    ask  answer  remaining  retry  reset  delay
       1000  2    yes     3          0      200    0
       900   1    yes     2          0      400    300`,
    )
  })
})
