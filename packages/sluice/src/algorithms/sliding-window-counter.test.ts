import { describe, expect, it } from "vitest"
import type { LimitOptions } from "../policy.js"
import { expectTrace, MIDNIGHT, micros, Player } from "./trace.test-support.js"

function counter(limit: number, window = "1s", buckets = 1): LimitOptions {
  return { algorithm: "sliding-window-counter", limit, window, buckets }
}

describe("sliding-window-counter", () => {
  it("estimates 60 at 10:30:15 and 21 at 10:30:45 after 80 in the minute 10:29", () => {
    // 10:29:00 is 37,740,000 ms after midnight. An estimate of 60 leaves 40.
    expectTrace(
      counter(100, "60s"),
      `at        ask  answer  remaining  retry  reset
       37740000  80   yes     20         0      119250.001
       37815000  0    yes     40         0      44250.001
       37815000  1    yes     39         0      45000.001
       37845000  0    yes     79         0      15000.001
       37845000  1    yes     78         0      45000.001`,
    )
  })

  it("weighs the previous window by what is left of it, to the microsecond", () => {
    expectTrace(
      counter(10),
      `at        ask  answer  remaining  retry  reset
       0         10   yes     0          0      1900.001
       999.999   1    no      0          0.002  900.002
       1000      1    no      0          0.001  900.001
       1000.001  1    yes     0          0      1000
       1000.001  1    no      0          100    1000
       1100      1    no      0          0.001  900.001
       1100.001  1    yes     0          0      1400
       1999.999  0    yes     8          0      500.002
       2000      0    yes     8          0      500.001
       2000      11   no      8          never  500.001
       2500      0    yes     9          0      0.001
       2500.001  0    yes     10         0      0`,
    )
  })

  it("lets a limit of 1 pass again one microsecond into the next window", () => {
    expectTrace(
      counter(1),
      `at        ask  answer  remaining  retry  reset
       0         1    yes     0          0      1000.001
       0         1    no      0          1000.001 1000.001
       1000      1    no      0          0.001  0.001
       1000.001  1    yes     0          0      1000
       2000      1    no      0          0.001  0.001`,
    )
  })

  it("slides over four buckets", () => {
    expectTrace(
      counter(8, "4s", 4),
      `at        ask  answer  remaining  retry     reset
       0         2    yes     6          0         4500.001
       1000      2    yes     4          0         4500.001
       2000      2    yes     2          0         4500.001
       3000      2    yes     0          0         4500.001
       3500      1    no      0          500.001   4000.001
       3500      5    no      0          2500.001  4000.001
       3500      6    no      0          3000.001  4000.001
       3500      8    no      0          4000.001  4000.001
       3999.999  1    no      0          0.002     3500.002
       4000      1    no      0          0.001     3500.001
       4000.001  1    yes     0          0         4000
       4500      1    no      0          0.001     3500.001
       4500.001  1    yes     0          0         4000`,
    )
  })

  it("slides over ten buckets", () => {
    expectTrace(
      counter(10, "1s", 10),
      `at        ask  answer  remaining  retry    reset
       0         10   yes     0          0        1090.001
       500       1    no      0          500.001  590.001
       1000      1    no      0          0.001    90.001
       1000.001  1    yes     0          0        1000
       1050      0    yes     4          0        950.001
       1050      4    yes     0          0        1030.001
       1100      0    yes     5          0        980.001`,
    )
  })

  it("stays in its newest bucket when the clock is set back by up to a window", () => {
    expectTrace(
      counter(10),
      `at        ask  answer  remaining  retry     reset
       1000      9    yes     1          0         1888.889
       500       1    yes     0          0         2400.001
       500       1    no      0          1500.001  2400.001
       0         1    no      0          2000.001  2900.001
       2000.001  1    yes     0          0         1000`,
    )
  })

  it("keeps the whole amount of a clock more than a window ahead", () => {
    // At 2100.001 the 10 of the window before count as 8. Six windows earlier they count in full, with the 2 of then.
    expectTrace(
      counter(10),
      `at        ask  answer  remaining  retry    reset
       1000      10   yes     0          0        1900.001
       2100.001  2    yes     0          0        1400
       -4100     0    no      0          266.667  1016.667
       -4100     1    no      0          266.667  1016.667
       -3833.334 1    no      0          0.001    750.001
       -3833.333 1    yes     0          0        833.334`,
    )
  })

  it("keeps what is charged when the limit changes", () => {
    expectTrace(
      counter(10),
      `at   ask       answer  remaining  retry     reset
       0    8         yes     2          0         1875.001
       100  limit=5   no      0          1275.001  1775.001
       100  1         no      0          1275.001  1775.001
       100  limit=20  yes     12         0         1775.001`,
    )
  })

  it("takes what counts into the newest bucket of a shorter window", () => {
    expectTrace(
      counter(10, "10s"),
      `at        ask        answer  remaining  retry    reset
       0         10         yes     0          0        19000.001
       4500      window=1s  yes     0          500.001  1400.001
       4500      1          no      0          500.001  1400.001
       5000      1          no      0          0.001    900.001
       5000.001  1          yes     0          0        1000`,
    )
  })

  it("takes what counts into the newest bucket of a longer window", () => {
    expectTrace(
      counter(10),
      `at    ask         answer  remaining  retry     reset
       0     10          yes     0          0         1900.001
       1500  window=10s  yes     5          0         16500.001
       1500  6           no      5          8500.001  16500.001
       1500  5           yes     0          0         17500.001`,
    )
  })

  it("gives back the newest units first, and at most what is charged", () => {
    expectTrace(
      counter(10),
      `at    ask        answer  remaining  retry  reset
       0     6          yes     4          0      1833.334
       1500  2          yes     5          0      1000.001
       1500  refund=1   yes     6          0      500.001
       1500  refund=1   yes     7          0      333.334
       1500  refund=2   yes     8          0      250.001
       1500  refund=99  yes     10         0      0
       1500  1          yes     9          0      500.001`,
    )
  })

  it("is bound to no time once everything is given back", () => {
    expectTrace(
      counter(10),
      `at    ask       answer  remaining  retry  reset
       1000  4         yes     6          0      1750.001
       1000  refund=4  yes     10         0      0
       600   4         yes     6          0      1150.001`,
    )
  })

  it("writes nothing when it refunds what no longer counts", () => {
    const player = new Player(counter(3))
    player.check(0, 3)
    const before = player.key.cells.slice()
    player.refund(2000, 1)
    expect(player.key.cells).toEqual(before)
  })

  it("keeps to a steady 7 per second for 10,000 seconds", () => {
    const player = new Player(counter(7))
    let passed = 0
    // Evenly spaced, and none exactly on a boundary, where the window before still counts in full.
    for (let i = 0; i < 70_000; i++) passed += player.check(((i + 0.5) * 1000) / 7).allowed ? 1 : 0
    expect(passed).toBe(70_000)
  })
})

describe("sliding-window-counter with wide numbers", () => {
  // Up to 10,000 × 2.6e12 µs: beyond 2^53, where a plain product would round.
  const day = 86_400_000
  const size = BigInt(30 * day) * 1000n

  it("weighs 9,973 of 10,000 per 30 days exactly on both sides of every step", () => {
    const player = new Player(counter(10_000, "30d"))
    // Days 19,740 to 19,770 since 1970 are one window; 2024 starts with day 19,723.
    const next = 47 * day
    player.check(17 * day, 9_973)
    for (let units = 1n; units <= 9_973n; units++) {
      const left = (units * size + 9_972n) / 9_973n
      const step = next + Number(size - left) / 1000
      expect(player.peek(step).remaining).toBe(10_000 - Number(units))
      expect(player.peek(step + 0.001).remaining).toBe(10_000 - Number(units) + 1)
    }
  })

  it("solves for the exact microsecond at the largest limit", () => {
    const player = new Player(counter(2 ** 50, "30d"))
    player.check(17 * day, 2 ** 50)
    for (const cost of [1, 2, 3, 7, 10_007, 2 ** 49 + 1, 2 ** 50 - 1, 2 ** 50]) {
      const { retryAfter } = player.key.decide(cost, micros(47 * day))
      const counted = (offset: number) => (2n ** 50n * (size - BigInt(offset))) / size + BigInt(cost)
      expect(counted(retryAfter)).toBeLessThanOrEqual(2n ** 50n)
      expect(counted(retryAfter - 1)).toBeGreaterThan(2n ** 50n)
    }
  })

  it("does not take a product of 2^53 + 1 for 2^53", () => {
    // 321 units × 28,059,810,762,433 µs is 2^53 + 1. A third of the window is left of the 321: exactly 107.
    const player = new Player({ ...counter(321), window: 84_179_432_287.299 })
    const start = 84_179_432_287.299 * 21 - MIDNIGHT
    player.check(start, 321)
    const third = start + (84_179_432_287_299 * 2 - 28_059_810_762_433) / 1000
    expect(player.peek(third).remaining).toBe(321 - 107)
  })
})
